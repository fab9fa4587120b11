/* Counts the ones before the first zero of each line.
   cc -O2 -o leading_ones leading_ones.c */
#include <stdio.h>

int main(void)
{
    long ones = 0;
    int leading = 1, c;

    while ((c = getchar()) != EOF) {
        if (c == '\n') {
            printf("%ld\n", ones);
            fflush(stdout);
            ones = 0;
            leading = 1;
        } else if (leading && c == '1') {
            ones++;
        } else {
            leading = 0;
        }
    }
    return 0;
}
