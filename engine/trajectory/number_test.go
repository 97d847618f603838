package trajectory_test

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-dev/reprise/engine/trajectory"
	"github.com/reprise-dev/reprise/kernel/canon"
)

func parse(t testing.TB, text string) canon.Value {
	t.Helper()
	v, err := canon.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestLiftMakesEveryNumberFitABody(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{`0`, `0`},
		{`-1`, `-1`},
		{`9007199254740991`, `9007199254740991`},
		{`9007199254740992`, `{"$number":"9007199254740992"}`},
		{`-9007199254740992`, `{"$number":"-9007199254740992"}`},
		{`18446744073709551615`, `{"$number":"18446744073709551615"}`},
		{`-0`, `{"$number":"-0"}`},
		{`1.0`, `{"$number":"1.0"}`},
		{`1e2`, `{"$number":"1e2"}`},
		{`0.1000`, `{"$number":"0.1000"}`},
		{`null`, `null`},
		{`"$number"`, `"$number"`},
		{`{"b":[1,{"a":2.5}],"a":true}`, `{"b":[1,{"a":{"$number":"2.5"}}],"a":true}`},
	} {
		in := parse(t, c.in)
		got, err := trajectory.Lift(in)
		if err != nil || got.String() != c.want {
			t.Errorf("Lift(%s) = %s, %v, want %s", c.in, got, err, c.want)
			continue
		}
		if _, err := canon.Encode(got, canon.Native); err != nil {
			t.Errorf("Lift(%s) does not fit a body: %v", c.in, err)
		}
		back, err := trajectory.Lower(got)
		if err != nil || back.String() != c.in {
			t.Errorf("Lower(Lift(%s)) = %s, %v, want it back token for token", c.in, back, err)
		}
	}
}

func TestLiftAndLowerRefuseASecondSpelling(t *testing.T) {
	t.Parallel()
	for _, in := range []string{`{"$number":"1.5"}`, `[{"a":{"$number":1}}]`, `{"$number":"1.5","b":1}`} {
		if got, err := trajectory.Lift(parse(t, in)); !errors.Is(err, trajectory.ErrNumber) {
			t.Errorf("Lift(%s) = %s, %v, want %v", in, got, err, trajectory.ErrNumber)
		}
	}
	for _, in := range []string{
		`1.5`, `9007199254740992`, `-0`, // not lifted
		`{"$number":"1"}`, `{"$number":"-9007199254740991"}`, // needs no lifting
		`{"$number":1.5}`, `{"$number":null}`, `{"$number":"1.5","b":1}`, `{"$number":"0x1"}`, `{"$number":""}`,
		`{"$number":" 1.5"}`, `{"$number":"1e999"}`, `[[{"$number":"01.5"}]]`,
	} {
		if got, err := trajectory.Lower(parse(t, in)); !errors.Is(err, trajectory.ErrNumber) {
			t.Errorf("Lower(%s) = %s, %v, want %v", in, got, err, trajectory.ErrNumber)
		}
	}
	for name, f := range map[string]func(canon.Value) (canon.Value, error){"Lift": trajectory.Lift, "Lower": trajectory.Lower} {
		if _, err := f(canon.Value{}); !errors.Is(err, trajectory.ErrNumber) {
			t.Errorf("%s(absent) = %v, want %v", name, err, trajectory.ErrNumber)
		}
	}
}

// anyValue draws JSON values with every shape of number.
func anyValue(depth int) *rapid.Generator[canon.Value] {
	number := rapid.Custom(func(t *rapid.T) canon.Value {
		token := rapid.StringMatching(`-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,4})?([eE][+-]?[0-9]{1,2})?`).Draw(t, "number")
		v, err := canon.Number(token)
		if err != nil {
			t.Fatal(err)
		}
		return v
	})
	leaves := []*rapid.Generator[canon.Value]{
		number, rapid.Map(rapid.String(), canon.String), rapid.Map(rapid.Bool(), canon.Bool), rapid.Just(canon.Null()),
	}
	if depth == 0 {
		return rapid.OneOf(leaves...)
	}
	inner := anyValue(depth - 1)
	array := rapid.Map(rapid.SliceOfN(inner, 0, 3), func(e []canon.Value) canon.Value { return canon.Array(e...) })
	object := rapid.Custom(func(t *rapid.T) canon.Value {
		v := canon.Object()
		for _, name := range rapid.SliceOfN(rapid.StringMatching(`[a-c]{0,2}|author|token|auth`), 0, 3).Draw(t, "names") {
			v = v.With(name, inner.Draw(t, name))
		}
		return v
	})
	return rapid.OneOf(append(leaves, array, object)...)
}

func TestLowerIsTheInverseOfLift(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := anyValue(3).Draw(t, "value")
		lifted, err := trajectory.Lift(v)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := canon.Encode(lifted, canon.Native); err != nil {
			t.Fatalf("Lift(%s) does not fit a body: %v", v, err)
		}
		if back, err := trajectory.Lower(lifted); err != nil || back.String() != v.String() {
			t.Fatalf("Lower(Lift(%s)) = %s, %v", v, back, err)
		}
	})
}
