package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"
)

// bedrock is the SDK of AWS, which signs its requests and the host that they
// go to. Whole answers it gets by InvokeModel, streams by ConverseStream.
type bedrock struct{ c *bedrockruntime.Client }

func newBedrock(ctx context.Context) (*bedrock, error) {
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, err
	}
	return &bedrock{bedrockruntime.NewFromConfig(cfg, func(o *bedrockruntime.Options) { o.HTTPClient = readOnly{o.HTTPClient} })}, nil
}

// readOnly sends request bodies that can be read and nothing else. The SDK
// closes a body as soon as the head of the answer is there, and one of its own
// (smithy-go 1.28, safeWriteToReadCloser) then fails a WriteTo with EOF. If the
// transport has just sent the last byte and has not looked for more yet, it
// takes that for a broken request and closes the connection, in the middle of
// the answer. It happens where an answer comes faster than the client's own
// goroutine has its turn: on a busy machine, from the loopback.
type readOnly struct{ c bedrockruntime.HTTPClient }

// Do implements [bedrockruntime.HTTPClient].
func (r readOnly) Do(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		req.Body = struct{ io.ReadCloser }{req.Body}
	}
	return r.c.Do(req)
}

const bedrockModel = "anthropic.e2e-1:0" // a colon is escaped twice in what is signed

func (b *bedrock) ask(ctx context.Context, text string, stream bool) (any, error) {
	if stream {
		return b.stream(ctx, text)
	}
	body, err := json.Marshal(map[string]any{
		"anthropic_version": "bedrock-2023-05-31", "max_tokens": 100,
		"messages": []map[string]any{{"role": "user", "content": text}},
	})
	if err != nil {
		return nil, err
	}
	out, err := b.c.InvokeModel(ctx, &bedrockruntime.InvokeModelInput{ModelId: aws.String(bedrockModel), ContentType: aws.String("application/json"), Body: body})
	if err != nil {
		return nil, err
	}
	var doc struct {
		Content []struct{ Text string }
		Usage   struct {
			OutputTokens int64 `json:"output_tokens"`
		}
	}
	if err := json.Unmarshal(out.Body, &doc); err != nil {
		return nil, err
	}
	s := said{Tokens: doc.Usage.OutputTokens}
	for _, c := range doc.Content {
		s.Text += c.Text
	}
	return s, nil
}

func (b *bedrock) stream(ctx context.Context, text string) (any, error) {
	out, err := b.c.ConverseStream(ctx, &bedrockruntime.ConverseStreamInput{
		ModelId:  aws.String(bedrockModel),
		Messages: []types.Message{{Role: types.ConversationRoleUser, Content: []types.ContentBlock{&types.ContentBlockMemberText{Value: text}}}},
	})
	if err != nil {
		return nil, err
	}
	events := out.GetStream()
	defer events.Close()
	var s said
	for e := range events.Events() {
		s.Events++
		switch e := e.(type) {
		case *types.ConverseStreamOutputMemberContentBlockDelta:
			if d, ok := e.Value.Delta.(*types.ContentBlockDeltaMemberText); ok {
				s.Text += d.Value
			}
		case *types.ConverseStreamOutputMemberMetadata:
			s.Tokens = int64(aws.ToInt32(e.Value.Usage.OutputTokens))
		}
	}
	return s, events.Err()
}

func (*bedrock) tools(context.Context, bool) (any, error) {
	return nil, errors.New("not tried")
}
