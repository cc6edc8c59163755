/** Forms that a stemmer does not bring together: the base, then its other forms. */
const forms = `become became
begin began begun
bite bit bitten
blow blew blown
break broke broken
bring brought
build built
buy bought
catch caught
child children
choose chose chosen
come came
creep crept
dig dug
draw drew drawn
dream dreamt
drink drank drunk
drive drove driven
eat ate eaten
fall fell fallen
feed fed
feel felt
fight fought
find found
fly flew flown
foot feet
forget forgot forgotten
forgive forgave forgiven
freeze froze frozen
give gave given
go went gone goes
goose geese
grow grew grown
half halves
hang hung
hear heard
hide hid hidden
hold held
keep kept
knife knives
know knew known
lead led
learn learnt
leave left
leaf leaves
lend lent
lie lay lain
life lives
light lit
lose lost
make made
man men
mean meant
meet met
mouse mice
pay paid
person people
ride rode ridden
ring rang rung
rise rose risen
run ran
say said
see saw seen
seek sought
sell sold
send sent
shake shook shaken
shelf shelves
shine shone
shoot shot
show shown
shrink shrank shrunk
sing sang sung
sink sank sunk
sit sat
sleep slept
speak spoke spoken
spend spent
spin spun
spring sprang sprung
stand stood
steal stole stolen
stick stuck
strike struck
swear swore sworn
sweep swept
swim swam swum
swing swung
take took taken
teach taught
tear tore torn
tell told
think thought
throw threw thrown
tooth teeth
understand understood
wake woke woken
wear wore worn
weep wept
wife wives
win won
wind wound
wolf wolves
woman women
write wrote written
good better best
bad worse worst
mom mum mother mommy
dad father daddy
photo photograph picture pic
tv television
bike bicycle
kid child`;

/** The base of a form. */
export const irregularForms: ReadonlyMap<string, string> = new Map(
  forms.split("\n").flatMap((line) => {
    const [base, ...others] = line.split(" ");
    return others.map((form) => [form, base!] as const);
  }),
);
