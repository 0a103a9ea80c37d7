# Accepts the words over a and b that read the same backwards, the empty one too.
# Rubs out the first letter, runs to the other end, compares, and comes back.
name: palindrome
start: look
blank: _
input: ab
accept: yes
look _ -> yes _ S
look a -> have-a _ R
look b -> have-b _ R
have-a a -> have-a a R
have-a b -> have-a b R
have-a _ -> want-a _ L
have-b a -> have-b a R
have-b b -> have-b b R
have-b _ -> want-b _ L
want-a _ -> yes _ S
want-a a -> back _ L
want-a b -> no b S
want-b _ -> yes _ S
want-b b -> back _ L
want-b a -> no a S
back a -> back a L
back b -> back b L
back _ -> look _ R
