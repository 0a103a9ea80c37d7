# Counts in binary for ever, highest digit first, from whatever number it is given.
name: binary counter that never halts
start: right
blank: _
input: 01
right 0 -> right 0 R
right 1 -> right 1 R
right _ -> carry _ L
carry 1 -> carry 0 L
carry 0 -> right 1 R
carry _ -> right 1 R
