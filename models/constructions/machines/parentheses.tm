# Accepts balanced parentheses: crosses out the first ) and the nearest ( before it, again
# and again; at the end no ( may be left.
name: balanced parentheses
start: seek
blank: _
input: ()
accept: yes
seek ( -> seek ( R
seek x -> seek x R
seek ) -> partner x L
seek _ -> check _ L
partner x -> partner x L
partner ( -> seek x R
partner _ -> no _ R
check x -> check x L
check ( -> no ( S
check _ -> yes _ S
