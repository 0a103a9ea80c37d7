# Three states, two symbols, from a blank tape: halts with six ones, the most there are for
# three states (Lin and Rado 1965).
name: busiest of 3 states by ones
start: A
blank: 0
A 0 -> B 1 R
A 1 -> C 1 L
B 0 -> A 1 L
B 1 -> B 1 R
C 0 -> B 1 L
C 1 -> halt 1 R
