package trajectory

import (
	"slices"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// ErrNumber means that a value cannot be lifted or lowered: it uses the member
// name that stands for a number, or a stand-in is not the one spelling of its
// number. Rename the member, or lift the value again.
const ErrNumber fault.Invalid = "trajectory.bad_number"

const (
	// numberName is the one member of the stand-in for a number.
	numberName = "$number"
	// maxSafe is the largest integer that a body holds as a number.
	maxSafe = 1<<53 - 1
)

// Lift returns v in a form that the body of an entry can hold: every number
// that is not an integer of at most 2^53-1 becomes {"$number":"<token>"}. It
// refuses a value that has a member of that name, so that no two values are
// lifted to one.
func Lift(v canon.Value) (canon.Value, error) {
	switch v.Kind() {
	case canon.KindNumber:
		if isPlain(v) {
			return v, nil
		}
		token, _ := v.Token()
		return canon.Object(canon.M(numberName, canon.String(token))), nil
	case canon.KindObject:
		if v.Has(numberName) {
			return canon.Value{}, fault.New(ErrNumber, "trajectory.Lift", "a member is named %q; rename it", numberName)
		}
	case canon.Absent:
		return canon.Value{}, fault.New(ErrNumber, "trajectory.Lift", "there is no value")
	default:
	}
	return within(v, Lift)
}

// Lower is the inverse of [Lift]: Lower(Lift(v)) is v, token for token. It
// refuses what Lift does not write, a number that needed no lifting included.
func Lower(v canon.Value) (canon.Value, error) {
	const op = "trajectory.Lower"
	switch v.Kind() {
	case canon.KindNumber:
		if !isPlain(v) {
			return canon.Value{}, fault.New(ErrNumber, op, "the number %s is not lifted", v)
		}
		return v, nil
	case canon.KindObject:
		if !v.Has(numberName) {
			break
		}
		token, ok := v.Get(numberName).AsString()
		if !ok || v.Len() != 1 {
			return canon.Value{}, fault.New(ErrNumber, op, "a stand-in for a number has only the member %q, a string", numberName)
		}
		n, err := canon.Number(token)
		if err != nil {
			return canon.Value{}, fault.Wrap(ErrNumber, op, err, "a stand-in for a number")
		}
		if isPlain(n) {
			return canon.Value{}, fault.New(ErrNumber, op, "the number %s needs no stand-in", token)
		}
		return n, nil
	case canon.Absent:
		return canon.Value{}, fault.New(ErrNumber, op, "there is no value")
	default:
	}
	return within(v, Lower)
}

// isPlain reports whether a number stands in a body as it is.
func isPlain(v canon.Value) bool {
	n, ok := v.AsInt()
	token, _ := v.Token()
	return ok && -maxSafe <= n && n <= maxSafe && token != "-0"
}

// within applies f to what an array or object holds.
func within(v canon.Value, f func(canon.Value) (canon.Value, error)) (canon.Value, error) {
	switch v.Kind() {
	case canon.KindArray:
		elems := slices.Clone(v.Elems())
		for i, e := range elems {
			x, err := f(e)
			if err != nil {
				return canon.Value{}, err
			}
			elems[i] = x
		}
		return canon.Array(elems...), nil
	case canon.KindObject:
		members := slices.Clone(v.Members())
		for i, m := range members {
			x, err := f(m.Value)
			if err != nil {
				return canon.Value{}, err
			}
			members[i].Value = x
		}
		return canon.Object(members...), nil
	default:
		return v, nil
	}
}
