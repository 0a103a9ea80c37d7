# Unary multiplication: 11*111= becomes 111111, behind the sign of equality. For every 1 of
# the first factor it copies the second; both factors and signs are rubbed out at the end.
name: unary multiplication
start: take
blank: _
input: 1*=
take 1 -> seek _ R
take * -> wipe _ R
seek 1 -> seek 1 R
seek * -> copy * R
copy 1 -> carry x R
copy = -> restore = L
carry 1 -> carry 1 R
carry = -> carry = R
carry _ -> return 1 L
return 1 -> return 1 L
return = -> return = L
return x -> copy x R
restore x -> restore 1 L
restore * -> home * L
home 1 -> home 1 L
home _ -> take _ R
wipe 1 -> wipe _ R
wipe = -> done _ R
