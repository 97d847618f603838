package sqlstore

import "context"

// Exec runs a statement on the connection that writes, between groups.
func (s *Store) Exec(ctx context.Context, query string) error {
	return s.do(ctx, "sqlstore.Exec", &job{alone: true, apply: func(g *group) (refusal, err error) {
		_, err = g.w.conn.ExecContext(ctx, query)
		return nil, err
	}})
}
