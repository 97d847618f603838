package cli

// RunAt is [Run] under a clock.
var RunAt = run

// Dollars is how a cost is spelt.
var Dollars = dollars
