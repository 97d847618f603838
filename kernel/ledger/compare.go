package ledger

import (
	"slices"

	"github.com/reprise-dev/reprise/kernel/canon"
)

// TimingType is the media type of an attachment that holds when the parts of
// an answer came. Time differs between two runs that did the same, so such an
// attachment is no part of the comparison form.
const TimingType = "application/vnd.reprise.timing.v1"

// placeMembers are the members of a body that differ between two runs that
// did the same: att is compared as contents, the others not at all.
var placeMembers = []string{"att", "refs", "cred", "scope"}

// Compared returns the comparison form of a body: without att, refs, cred and
// scope.
func Compared(body canon.Value) canon.Value { return body.Without(placeMembers...) }

// Same reports whether two decisions have the same comparison form.
func Same(a, b Decision) bool {
	if a.Kind != b.Kind || !Compared(a.Body).Equal(Compared(b.Body)) {
		return false
	}
	return slices.EqualFunc(compared(a.Contents), compared(b.Contents), func(x, y Content) bool {
		return x.Name == y.Name && x.Type == y.Type && string(x.Bytes) == string(y.Bytes)
	})
}

func compared(list []Content) []Content {
	if !slices.ContainsFunc(list, isTiming) {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), isTiming)
}

func isTiming(c Content) bool { return c.Type == TimingType }

// Holds reports whether content is what the attachment commits to, given the
// salt that is stored with it.
func (a Attachment) Holds(salt canon.Salt, content []byte) bool {
	return a.Size == int64(len(content)) && canon.Bind(&salt, content) == a.Bind
}
