# Adds 1 to a binary number, highest digit first: 1011 becomes 1100, nothing becomes 1.
name: binary increment
start: right
blank: _
input: 01
right 0 -> right 0 R
right 1 -> right 1 R
right _ -> carry _ L
carry 1 -> carry 0 L
carry 0 -> done 1 S
carry _ -> done 1 S
