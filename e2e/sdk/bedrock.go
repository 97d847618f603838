package main

import (
	"context"
	"encoding/json"
	"errors"
	"net"

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
	return &bedrock{bedrockruntime.NewFromConfig(cfg)}, nil
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
	err = events.Err()
	if errors.Is(err, net.ErrClosed) && s.Tokens > 0 {
		err = nil // the SDK has read the last event, hung up itself, and at times reports that
	}
	return s, err
}

func (*bedrock) tools(context.Context, bool) (any, error) {
	return nil, errors.New("not tried")
}
