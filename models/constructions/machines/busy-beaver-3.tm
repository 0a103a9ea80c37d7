# Three states, two symbols, from a blank tape: halts after 21 steps, the most there are for
# three states (Lin and Rado 1965), with five ones.
name: busy beaver, 3 states
start: A
blank: 0
A 0 -> B 1 R
A 1 -> halt 1 R
B 0 -> B 1 L
B 1 -> C 0 R
C 0 -> C 1 L
C 1 -> A 1 L
