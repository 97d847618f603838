package fault_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/reprise-dev/reprise/kernel/fault"
)

const errBroken fault.Integrity = "test.broken"

func ExampleNew() {
	err := fmt.Errorf("reading run: %w", fault.New(errBroken, "test.Op", "entry %d names another parent", 7))
	fmt.Println(errors.Is(err, errBroken))
	fmt.Println(fault.CodeOf(err), fault.ClassOf(err), fault.ClassOf(err).ExitStatus())
	// Output:
	// true
	// test.broken integrity 3
}

func TestEveryClassKeepsItsCodeOverARoundTrip(t *testing.T) {
	t.Parallel()
	for _, class := range fault.Classes() {
		code, err := fault.Recorded(class.String(), "x.y")
		if err != nil {
			t.Fatal(err)
		}
		if code.Class() != class || code.Error() != "x.y" {
			t.Errorf("Recorded(%s) = %v of class %v", class, code, code.Class())
		}
		if !errors.Is(fault.New(code, "", ""), code) {
			t.Errorf("errors.Is does not find %v", code)
		}
	}
	if _, err := fault.Recorded("gone", "x"); !errors.Is(err, fault.ErrUnknownClass) {
		t.Errorf("Recorded of an unknown class = %v", err)
	}
}

func TestSameStringInAnotherClassIsAnotherCode(t *testing.T) {
	t.Parallel()
	if errors.Is(fault.New(errBroken, "", ""), fault.Invalid("test.broken")) {
		t.Error("a code of another class was taken for the same")
	}
}

func TestErrorWithoutCodeIsInternal(t *testing.T) {
	t.Parallel()
	if got := fault.CodeOf(errors.New("x")); got != fault.ErrUnknown {
		t.Errorf("CodeOf = %v", got)
	}
	if fault.CodeOf(nil) != nil || fault.ClassOf(nil).ExitStatus() != 0 {
		t.Error("a nil error has a code")
	}
	if fault.Wrap(errBroken, "op", nil, "x") != nil {
		t.Error("Wrap of nil is not nil")
	}
}

func TestTextLeavesTheCodeOut(t *testing.T) {
	t.Parallel()
	err := fault.Wrap(errBroken, "op", errors.New("a cause"), "what was wrong")
	if got, want := fault.Text(err), "what was wrong: a cause"; got != want {
		t.Errorf("Text = %q, want %q", got, want)
	}
	if got := fault.Text(errors.New("plain")); got != "plain" {
		t.Errorf("Text of an error without a code = %q", got)
	}
	if got := fault.Text(nil); got != "" {
		t.Errorf("Text(nil) = %q", got)
	}
}
