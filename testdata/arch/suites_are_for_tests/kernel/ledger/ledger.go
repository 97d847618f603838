package ledger

type Entry struct{}
