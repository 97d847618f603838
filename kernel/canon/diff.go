package canon

import "strconv"

// Difference is one place where two values differ.
type Difference struct {
	Pointer string // JSON pointer (RFC 6901)
	A, B    Value  // absent on the side that has nothing there
}

// Diff returns the first max places where a and b differ, or all if max is not
// positive. It descends into arrays and objects of which both sides have one.
// Members come in the order of their names. Elements are compared by index
// after the elements that are equal at both ends are set aside, so that one
// that was inserted or removed is one difference; its pointer holds the index
// on the side that has it.
func Diff(a, b Value, max int) []Difference {
	d := differ{max: max}
	d.compare(a, b)
	return d.found
}

type differ struct {
	max   int
	path  []byte
	found []Difference
}

func (d *differ) full() bool { return d.max > 0 && len(d.found) >= d.max }

func (d *differ) compare(a, b Value) {
	switch {
	case d.full() || a.Equal(b):
	case a.kind == KindArray && b.kind == KindArray:
		d.compareElems(a.Elems(), b.Elems())
	case a.kind == KindObject && b.kind == KindObject:
		d.compareMembers(a, b)
	default:
		d.found = append(d.found, Difference{Pointer: string(d.path), A: a, B: b})
	}
}

// at compares what stands under one more reference token.
func (d *differ) at(name string, a, b Value) {
	n := len(d.path)
	d.path = AppendPointer(d.path, name)
	d.compare(a, b)
	d.path = d.path[:n]
}

func (d *differ) compareElems(a, b []Value) {
	first := 0
	for len(a) > 0 && len(b) > 0 && a[0].Equal(b[0]) {
		a, b = a[1:], b[1:]
		first++
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1].Equal(b[len(b)-1]) {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	for i := 0; i < max(len(a), len(b)) && !d.full(); i++ {
		var x, y Value
		if i < len(a) {
			x = a[i]
		}
		if i < len(b) {
			y = b[i]
		}
		d.at(strconv.Itoa(first+i), x, y)
	}
}

func (d *differ) compareMembers(a, b Value) {
	x, _ := a.inOrder()
	y, _ := b.inOrder()
	for (len(x) > 0 || len(y) > 0) && !d.full() {
		switch {
		case len(y) == 0 || len(x) > 0 && compareNames(x[0].Name, y[0].Name) < 0:
			d.at(x[0].Name, x[0].Value, Value{})
			x = x[1:]
		case len(x) == 0 || compareNames(y[0].Name, x[0].Name) < 0:
			d.at(y[0].Name, Value{}, y[0].Value)
			y = y[1:]
		default:
			d.at(x[0].Name, x[0].Value, y[0].Value)
			x, y = x[1:], y[1:]
		}
	}
}
