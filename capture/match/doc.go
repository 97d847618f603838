// Package match says which requests are the same: what of a body is compared
// with a recorded one, and what may differ.
//
// JSON is compared in its canonical form. Beyond that each [Normaliser] is a
// rule with a name and a version for what real clients draw anew for every run:
// ids, the date and the working folder ([Setting]), the order of results that
// came at once, the line between the parts of a form. Some are off unless they
// are asked for ([Optional]). A record names the rules that it was made with,
// and a replay uses those ([RulesOf]): a rule that was released is not changed.
//
// [Rules] are normalisers made ready for one run. [Rules.Form] gives the form of
// a body that a match key is taken of, and names the rules that changed
// something, so that a report can say that a hit was not an exact one.
package match
