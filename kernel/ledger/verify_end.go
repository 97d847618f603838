package ledger

import (
	"fmt"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/sign"
)

// commit folds the delta of a commit (T-05, T-10). Behind a commit that
// cannot be read or applied nothing is folded: the world is not known there.
func (v *verifier) commit(e *Entry, n int64, m body, ok bool) error {
	switch {
	case v.lost:
		return nil
	case !ok:
		v.lost = true
		if e.Body != nil || !v.ev.Withheld {
			v.fail(iFold, Finding{Code: ErrAbsent, N: n, Where: "body", Msg: "the commit cannot be read, so the world behind it is not known"})
		}
		return nil
	}
	v.res.Phases[iFold].Checked++
	failed := v.res.Phases[iFold].Failed
	err := v.delta(e, n, m)
	v.lost = v.res.Phases[iFold].Failed > failed
	return err
}

func (v *verifier) delta(e *Entry, n int64, m body) error {
	list, err := canon.Parse(m.delta)
	if err != nil {
		v.failErr(iFold, n, "delta", ErrDelta, err)
		return nil
	}
	changes, err := ParseDelta(list)
	if err != nil {
		v.failErr(iFold, n, "delta", ErrDelta, err)
		return nil
	}
	for i, c := range changes {
		var value *canon.Digest
		if c.Att != "" {
			at := attachmentNamed(m.att, c.Att)
			if at < 0 || at >= len(e.Parts) {
				v.fail(iFold, Finding{Code: ErrDelta, N: n, Where: fmt.Sprintf("delta/%d", i), Msg: "the value is an attachment that the entry does not have"})
				return nil
			}
			if value, err = v.worldValue(e, at); err != nil {
				return err
			}
		}
		if err := v.res.World.Apply(c, value); err != nil {
			v.failErr(iFold, n, fmt.Sprintf("delta/%d", i), fault.CodeOf(err), err)
			return nil
		}
	}
	return nil
}

// attachmentNamed returns the place of an attachment in att, or -1.
func attachmentNamed(att []byte, name string) int {
	want := canon.AppendString(nil, name)
	for i, rest := 0, att; ; i++ {
		raw, next, ok := element(rest)
		if !ok {
			return -1
		}
		if rest = next; string(field(raw, "name")) == string(want) {
			return i
		}
	}
}

// attachmentOf returns the place of an attachment of e, or -1.
func attachmentOf(e *Entry, name string) (int, error) {
	o, err := Parse(e)
	if err != nil {
		return -1, err
	}
	return o.Attachment(name), nil
}

// worldValue returns what stands for attachment i in the world, or nil if its
// bytes are absent. That they are the recorded ones was checked before.
func (v *verifier) worldValue(e *Entry, i int) (*canon.Digest, error) {
	if e.Parts[i].Recipe == nil || v.ev.Attachment == nil {
		return nil, nil
	}
	d := NewWorldValue()
	if err := v.ev.Attachment(e, i, d); err != nil {
		if c := fault.ClassOf(err); c == fault.ClassIntegrity || c == fault.ClassNotFound {
			return nil, nil
		}
		return nil, err
	}
	sum := d.Sum()
	return &sum, nil
}

// advanceHead reads the next head that can be read.
func (v *verifier) advanceHead() error {
	for {
		st, err, more := v.nextHead()
		if err != nil {
			return err
		}
		if !more {
			v.head = nil
			return nil
		}
		v.res.Phases[iSignatures].Checked++
		h, env, err := ParseHead(st.Envelope)
		if err != nil {
			v.failErr(iSignatures, st.Count-1, "head", fault.CodeOf(err), err)
			continue
		}
		if h.Run != v.ev.Run || st.Run != v.ev.Run {
			v.fail(iSignatures, Finding{Code: ErrHeadMismatch, N: st.Count - 1, Where: "head", Expected: string(v.ev.Run), Found: string(h.Run), Msg: "a head of another ledger"})
			continue
		}
		if h.Count != st.Count || st.Type != HeadType {
			v.fail(iSignatures, Finding{Code: ErrHeadMismatch, N: st.Count - 1, Where: "head", Expected: fmt.Sprintf("%d entries", st.Count), Found: fmt.Sprintf("%d entries", h.Count), Msg: "the head says another number of entries than the place where it is kept"})
			continue
		}
		v.head, v.envelope = &h, env
		return nil
	}
}

// heads compares the heads that stand at the present position.
func (v *verifier) heads() error {
	for v.head != nil && v.head.Count <= v.res.At.Count {
		v.compareHead()
		if err := v.advanceHead(); err != nil {
			return err
		}
	}
	return nil
}

func (v *verifier) compareHead() {
	h := v.head
	where := fmt.Sprintf("head of %d entries", h.Count)
	if h.Count < v.res.At.Count {
		v.fail(iSignatures, Finding{Code: ErrHeadMismatch, N: h.Count - 1, Where: where, Msg: "the heads are not in order"})
		return
	}
	if root := v.res.Tree.Root(); h.Root != root || h.Last != v.res.At.Last {
		v.fail(iSignatures, Finding{Code: ErrHeadMismatch, N: h.Count - 1, Where: where, Expected: h.Root.String(), Found: root.String(), Msg: "the signed head says other than the entries"})
		return
	}
	v.signature(h, where)
}

func (v *verifier) signature(h *Head, where string) {
	if v.ev.Keys == nil {
		return
	}
	if _, _, manifests := v.ev.Keys.Last(); manifests == 0 {
		return
	}
	key, known := v.ev.Keys.Find(v.envelope.KeyID)
	if !known || key.Role != sign.RoleHead {
		v.fail(iSignatures, Finding{Code: ErrHeadSignature, N: h.Count - 1, Where: where, Found: v.envelope.KeyID.String(), Msg: "the manifests list no such key for heads"})
		return
	}
	if err := v.envelope.Check(key.Key, HeadType); err != nil {
		v.failErr(iSignatures, h.Count-1, where, ErrHeadSignature, err)
		return
	}
	if key.State == sign.Revoked {
		v.fail(iSignatures, Finding{Code: ErrHeadSignature, N: h.Count - 1, Where: where, Found: key.Key.ID().String(), Msg: "the key was revoked"})
		return
	}
	v.res.Heads++
	v.res.HeadN, v.res.HeadKey = h.Count, key.Key.ID()
	if v.ev.Keys.Trusted() {
		v.earned = h.Count
		v.retired = key.State == sign.Retired
	}
}

func (v *verifier) remark(format string, args ...any) {
	if len(v.res.Remarks) < 20 {
		v.res.Remarks = append(v.res.Remarks, fmt.Sprintf(format, args...))
	}
}

func (v *verifier) finish() error {
	r := v.res
	if v.ev.Damage != nil {
		v.fail(iLoad, *v.ev.Damage)
	}
	if r.At.Count == 0 {
		v.fail(iLoad, Finding{Code: ErrEmpty, N: -1, Where: "ledger", Msg: "there is no entry"})
	}
	for v.head != nil {
		v.fail(iSignatures, Finding{Code: ErrHeadMismatch, N: v.head.Count - 1, Where: fmt.Sprintf("head of %d entries", v.head.Count), Expected: fmt.Sprintf("%d entries", v.head.Count), Found: fmt.Sprintf("%d entries", r.At.Count), Msg: "the ledger is shorter than a signed head: its end was cut off"})
		if err := v.advanceHead(); err != nil {
			return err
		}
	}
	v.settle()
	v.pins()
	if v.ev.Check != nil {
		v.ev.Check.End(&Findings{v})
	}
	v.world()
	r.Lost = v.lost
	r.Unsigned = r.At.Count - v.earned
	if v.earned > 0 && !r.Failed() {
		r.Level = LevelSigned
	}
	v.closing()
	r.Phases[iReport].Checked = 1
	return nil
}

func (v *verifier) pins() {
	if v.ev.Expect == nil {
		return
	}
	v.res.Phases[iPins].Checked++
	if !v.expected {
		v.fail(iPins, Finding{Code: ErrExpectedHead, N: v.ev.Expect.Count - 1, Where: "expected head", Expected: v.ev.Expect.Last.String(), Found: fmt.Sprintf("%d entries", v.res.At.Count), Msg: "the ledger does not contain the head that you know: it was rolled back or rebuilt"})
	}
}

func (v *verifier) world() {
	if v.recorded == nil && v.ev.World == nil {
		return
	}
	got, whole := v.res.World.Hash()
	if v.lost {
		v.remark("partial: what was committed could not all be folded, so the world is not known and its hash cannot be compared")
		v.res.Withheld++
		return
	}
	for _, want := range []*canon.Digest{v.recorded, v.ev.World} {
		if want == nil {
			continue
		}
		v.res.Phases[iWorld].Checked++
		if alive, absent := v.res.World.Len(); !whole {
			v.remark("partial: %d of %d world values are present, so the world hash cannot be compared", alive-absent, alive)
			v.res.Withheld++
		} else if *want != got {
			v.fail(iWorld, Finding{Code: ErrWorldMismatch, N: v.res.At.Count - 1, Where: "world", Expected: want.String(), Found: got.String(), Msg: "the folded world is another one"})
		}
	}
}

func (v *verifier) closing() {
	r := v.res
	if !r.Sealed && !v.ev.Part {
		v.remark("unsealed: the run was not closed, so entries after the last may be missing")
	}
	switch open := int64(len(v.calls)) - v.unread; {
	case open == 1:
		v.remark("1 call is open")
	case open > 1:
		v.remark("%d calls are open", open)
	}
	if v.ev.Keys.Trusted() && r.Unsigned > 0 {
		v.remark("%d unsigned: no trusted head covers the last entries", r.Unsigned)
	}
	if v.retired {
		v.remark("the last head is by a retired key: its time is not provable")
	}
	if r.Withheld > 0 {
		v.remark("%d contents are withheld and were not checked", r.Withheld)
	}
}
