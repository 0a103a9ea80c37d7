# Four states, two symbols, from a blank tape: halts after 107 steps with 13 ones, the most
# there are for four states (Brady 1983).
name: busy beaver, 4 states
start: A
blank: 0
A 0 -> B 1 R
A 1 -> B 1 L
B 0 -> A 1 L
B 1 -> C 0 L
C 0 -> halt 1 R
C 1 -> D 1 L
D 0 -> D 1 R
D 1 -> A 0 R
