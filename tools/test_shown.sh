# Whether what a program prints is what the documentation shows.
#
# In what is shown, `…` stands for some text within a line, and a line of nothing but `…` for any lines.
# shellcheck shell=bash

# What is shown, as a regular expression for the whole of what is printed.
expression() { # expression FILE
  # shellcheck disable=SC2016
  sed -E -e 's/[[:space:]]+$//' -e 's/[][\.*^$(){}?+|]/\\&/g' "$1" |
    awk '/^…$/ { printf "(.*\n)?"; next } { gsub(/…/, "[^\n]+"); printf "%s\n", $0 }'
}

matches() { # matches SHOWN PRINTED
  local printed regex
  # The dots keep the line ends, which $() would drop.
  printed=$(sed -E 's/[[:space:]]+$//' "$2" && echo .)
  regex=$(expression "$1" && echo .)
  regex=${regex%.} printed=${printed%.}
  [[ $printed =~ ^$regex$ ]]
}
