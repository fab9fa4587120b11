#!/bin/sh
# Counts the ones of each line.
while read -r row; do
    ones=0
    while [ -n "$row" ]; do
        case $row in 1*) ones=$((ones + 1)) ;; esac
        row=${row#?}
    done
    echo "$ones"
done
