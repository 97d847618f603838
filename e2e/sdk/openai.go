package main

import (
	"context"
	"errors"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"
	"google.golang.org/genai"
)

// statusOf returns the HTTP status that an SDK gives with its error.
func statusOf(err error) int {
	if e, ok := errors.AsType[*openai.Error](err); ok {
		return e.StatusCode
	}
	if e, ok := errors.AsType[*anthropic.Error](err); ok {
		return e.StatusCode
	}
	if e, ok := errors.AsType[genai.APIError](err); ok {
		return e.Code
	}
	return 0
}

// chat is openai-go with chat completions.
type chat struct{ c openai.Client }

func newChat() *chat { return &chat{openai.NewClient(option.WithMaxRetries(3))} }

func (c *chat) params(text string, tools bool) openai.ChatCompletionNewParams {
	p := openai.ChatCompletionNewParams{Model: "e2e-1", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(text)}}
	if tools {
		for _, name := range names {
			p.Tools = append(p.Tools, openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: name, Parameters: schemas()[name]}))
		}
	}
	return p
}

func (c *chat) once(ctx context.Context, p openai.ChatCompletionNewParams, stream bool) (openai.ChatCompletionMessage, said, error) {
	if !stream {
		r, err := c.c.Chat.Completions.New(ctx, p)
		if err != nil {
			return openai.ChatCompletionMessage{}, said{}, err
		}
		return r.Choices[0].Message, said{Text: r.Choices[0].Message.Content, Tokens: r.Usage.TotalTokens}, nil
	}
	p.StreamOptions.IncludeUsage = openai.Bool(true)
	s := c.c.Chat.Completions.NewStreaming(ctx, p)
	defer s.Close()
	var all openai.ChatCompletionAccumulator
	events := 0
	for s.Next() {
		events++
		all.AddChunk(s.Current())
	}
	if err := s.Err(); err != nil {
		return openai.ChatCompletionMessage{}, said{}, err
	}
	m := all.Choices[0].Message
	return m, said{Text: m.Content, Events: events, Tokens: all.Usage.TotalTokens}, nil
}

func (c *chat) ask(ctx context.Context, text string, stream bool) (any, error) {
	_, s, err := c.once(ctx, c.params(text, false), stream)
	return s, err
}

func (c *chat) tools(ctx context.Context, stream bool) (any, error) {
	p := c.params("tools", true)
	m, _, err := c.once(ctx, p, stream)
	if err != nil {
		return nil, err
	}
	p.Messages = append(p.Messages, m.ToParam())
	var wishes []wish
	for _, t := range m.ToolCalls {
		wishes = append(wishes, wish{t.ID, t.Function.Name, t.Function.Arguments})
		p.Messages = append(p.Messages, openai.ToolMessage(result(t.Function.Name), t.ID))
	}
	_, s, err := c.once(ctx, p, stream)
	s.Wishes = wishes
	return s, err
}

// respond is openai-go with responses.
type respond struct{ c openai.Client }

func newResponses() *respond { return &respond{openai.NewClient(option.WithMaxRetries(3))} }

func (c *respond) once(ctx context.Context, p responses.ResponseNewParams, stream bool) (*responses.Response, said, error) {
	if !stream {
		r, err := c.c.Responses.New(ctx, p)
		if err != nil {
			return nil, said{}, err
		}
		return r, said{Text: r.OutputText(), Tokens: r.Usage.TotalTokens}, nil
	}
	s := c.c.Responses.NewStreaming(ctx, p)
	defer s.Close()
	events := 0
	var last responses.Response
	for s.Next() {
		events++
		if e := s.Current(); e.Type == "response.completed" {
			last = e.Response
		}
	}
	if err := s.Err(); err != nil {
		return nil, said{}, err
	}
	return &last, said{Text: last.OutputText(), Events: events, Tokens: last.Usage.TotalTokens}, nil
}

func (c *respond) ask(ctx context.Context, text string, stream bool) (any, error) {
	_, s, err := c.once(ctx, responses.ResponseNewParams{Model: "e2e-1", Input: responses.ResponseNewParamsInputUnion{OfString: openai.String(text)}}, stream)
	return s, err
}

func (c *respond) tools(ctx context.Context, stream bool) (any, error) {
	p := responses.ResponseNewParams{Model: "e2e-1", Input: responses.ResponseNewParamsInputUnion{OfInputItemList: responses.ResponseInputParam{
		responses.ResponseInputItemParamOfMessage("tools", responses.EasyInputMessageRoleUser),
	}}}
	for _, name := range names {
		p.Tools = append(p.Tools, responses.ToolParamOfFunction(name, schemas()[name], false))
	}
	r, _, err := c.once(ctx, p, stream)
	if err != nil {
		return nil, err
	}
	var wishes []wish
	for _, o := range r.Output {
		if o.Type != "function_call" {
			continue
		}
		f := o.AsFunctionCall()
		wishes = append(wishes, wish{f.CallID, f.Name, f.Arguments})
		p.Input.OfInputItemList = append(p.Input.OfInputItemList,
			responses.ResponseInputItemParamOfFunctionCall(f.Arguments, f.CallID, f.Name),
			responses.ResponseInputItemUnionParam{OfFunctionCallOutput: &responses.ResponseInputItemFunctionCallOutputParam{
				CallID: openai.String(f.CallID), Output: responses.ResponseInputItemFunctionCallOutputOutputUnionParam{OfString: openai.String(result(f.Name))},
			}})
	}
	_, s, err := c.once(ctx, p, stream)
	s.Wishes = wishes
	return s, err
}
