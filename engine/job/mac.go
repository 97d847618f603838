package job

import (
	"strconv"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/det"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/sign"
)

// ErrMACCall means that a call of the kind mac, or its outcome, is not of its
// form. Mend who answers such calls.
const ErrMACCall fault.Integrity = "job.bad_mac"

const (
	// KindMAC is the kind of the calls by which a job uses the server key: the
	// key itself never enters the record. [AnswerMAC] answers them.
	KindMAC = "mac"

	macLog = "reflective-log" // over a reflective log
	macPII = "pii"            // over personal data, one tag for each value

	macMessage = "message"
)

// macCall asks for a tag over a log, or for the hashes of values.
func macCall(purpose, keyID string, seed det.Seed, message []byte, scope string) effect.Call {
	return effect.Call{
		Kind: KindMAC, Name: purpose, Class: effect.Pure,
		Data:     canon.Object(canon.M("job_seed", canon.String(string(seed))), canon.M("key_id", canon.String(keyID))),
		Contents: []ledger.Content{{Name: macMessage, Type: "application/json", Bytes: message, Scope: scope}},
	}
}

// AnswerMAC answers a call of the kind mac with the key that it names, which is
// all that the shell does with the key while a job runs.
func AnswerMAC(c *effect.Call, key Key) (effect.Outcome, error) {
	const op = "job.AnswerMAC"
	message, seed := contentOf(c.Contents, macMessage), det.Seed(c.Data.Get("job_seed").Str())
	if c.Kind != KindMAC || message == nil || seed == "" {
		return effect.Outcome{}, fault.New(ErrMACCall, op, "this is no call for a tag")
	}
	if id := c.Data.Get("key_id").Str(); id != key.ID {
		return effect.Outcome{}, fault.New(ErrServerKey, op, "the call is for the key %q", id)
	}
	var tags []string
	switch c.Name {
	case macLog:
		tag, err := sign.MAC(key.Secret, []byte(logTag), message)
		if err != nil {
			return effect.Outcome{}, err
		}
		tags = []string{tag.String()}
	case macPII:
		values, err := canon.Parse(message)
		if err != nil || values.Kind() != canon.KindArray {
			return effect.Outcome{}, fault.New(ErrMACCall, op, "the message is no list of values")
		}
		for _, v := range values.Elems() {
			tags = append(tags, PIIHash(key.Secret, v.Str(), seed))
		}
	default:
		return effect.Outcome{}, fault.New(ErrMACCall, op, "there is no tag for the purpose %q", c.Name)
	}
	return effect.Outcome{Status: effect.OK, Data: canon.Object(canon.M("macs", canon.Strings(tags)))}, nil
}

// tags reads the outcome of a call for so many tags.
func tags(o *effect.Outcome, n int) ([]string, error) {
	list := o.Data.Get("macs")
	if list.Len() != n {
		return nil, fault.New(ErrMACCall, "job.tags", "%d tags came, not %s", list.Len(), strconv.Itoa(n))
	}
	out := make([]string, n)
	for i, e := range list.Elems() {
		out[i] = e.Str()
		if _, err := canon.ParseDigest(out[i]); err != nil {
			return nil, fault.Wrap(ErrMACCall, "job.tags", err, "tag %d", i)
		}
	}
	return out, nil
}
