# Deceptive traps: a block of five bits with u ones scores 5 if u is 5, else 4 - u.
{
    sum = 0
    for (i = 1; i <= length($0); i += 5) {
        block = substr($0, i, 5)
        u = gsub(/1/, "1", block)
        sum += (u == 5) ? 5 : 4 - u
    }
    print sum
    fflush()
}
