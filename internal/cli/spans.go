package cli

import (
	"context"
	"io"

	"github.com/reprise-dev/reprise/internal/otel"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// exportSpans writes a run as spans of OpenTelemetry.
func (a *app) exportSpans(ctx context.Context, name, out string, content bool) error {
	if out == "-" && a.json {
		return fault.New(ErrUsage, "cli.export", "standard output cannot hold both the spans and JSON")
	}
	s, info, err := a.openRun(ctx, name)
	if err != nil {
		return err
	}
	defer s.Close()
	prices, err := a.prices("")
	if err != nil {
		return err
	}
	opts := &otel.Options{Content: content, Prices: prices}
	if out == "-" {
		_, err := otel.Export(ctx, s, info.Run, a.stdout, opts)
		return err
	}
	spans := 0
	size, err := writeStream(out, func(w io.Writer) (err error) {
		spans, err = otel.Export(ctx, s, info.Run, w, opts)
		return err
	})
	if err != nil {
		return err
	}
	if a.json {
		a.print(canon.Object(
			canon.M("run", canon.String(string(info.Run))), canon.M("file", canon.String(out)),
			canon.M("spans", canon.Int(int64(spans))), canon.M("bytes", canon.Int(size)),
		))
		return nil
	}
	a.printf("wrote %s, %s, run %s\n", out, plural(int64(spans), "span"), a.out.name(short(info.Run)))
	return nil
}
