package s3blob

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/logging"

	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// Options are what may be chosen. A nil *Options chooses the defaults.
type Options struct {
	// Now is the clock that locks count from; nil is time.Now.
	Now func() time.Time
	// AccessKey and SecretKey are the credentials; without them they are looked
	// for as every AWS tool does.
	AccessKey, SecretKey string
	// Stays is told what an erasure had to leave in the bucket, unreadable
	// since its key is gone, and until when at least. Nil: nobody is told.
	Stays func(objects int, until time.Time)
}

const (
	// attempts is how often a request is made, with growing pauses.
	attempts = 4
	// requestTime limits a request with all its attempts.
	requestTime = 2 * time.Minute
	// answerTime limits one attempt until its answer begins.
	answerTime = 20 * time.Second
	dialTime   = 10 * time.Second
	// atOnce is how many requests one call makes at the same time.
	atOnce = 8
)

// bucket is a place whose bucket was looked at.
type bucket struct {
	Place
	opts     Options
	s3       *s3.Client
	http     *http.Transport
	versions bool // the bucket has, or once had, versions
}

// reach makes a client. Nothing but credentials may cause a request.
func reach(ctx context.Context, text string, opts *Options) (*bucket, error) {
	const op = "s3blob.Open"
	p, err := ParsePlace(text)
	if err != nil {
		return nil, err
	}
	b := &bucket{Place: p}
	if opts != nil {
		b.opts = *opts
	}
	if b.opts.Now == nil {
		b.opts.Now = time.Now
	}
	cfg, err := config.LoadDefaultConfig(ctx, b.load()...)
	if err != nil {
		return nil, fault.Wrap(ErrDenied, op, err, "the AWS configuration of the user cannot be read")
	}
	if cfg.Region == "" {
		cfg.Region = "us-east-1" // what services other than AWS expect; AWS says where the bucket is
	}
	if cfg.Credentials == nil {
		return nil, fault.New(ErrDenied, op, "there are no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE")
	}
	if _, err := cfg.Credentials.Retrieve(ctx); err != nil {
		return nil, fault.Wrap(ErrDenied, op, err, "there are no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or say imds=1 on a machine that has a role")
	}
	// The client of the configuration has the certificates that the user names.
	// Its transport is taken out, so that its connections can be closed.
	b.http = awshttp.NewBuildableClient().GetTransport()
	if c, ok := cfg.HTTPClient.(*awshttp.BuildableClient); ok {
		b.http = c.GetTransport()
	}
	b.s3 = s3.NewFromConfig(cfg, func(o *s3.Options) {
		o.HTTPClient = &http.Client{Transport: b.http, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		o.UsePathStyle = p.PathStyle
		if p.Endpoint != "" {
			o.BaseEndpoint = aws.String(p.Endpoint)
		}
		o.DisableLogOutputChecksumValidationSkipped = true
	})
	return b, nil
}

func (b *bucket) load() []func(*config.LoadOptions) error {
	metadata := imds.ClientDisabled
	if b.IMDS {
		metadata = imds.ClientEnabled
	}
	list := []func(*config.LoadOptions) error{
		config.WithHTTPClient(awshttp.NewBuildableClient().
			WithDialerOptions(func(d *net.Dialer) { d.Timeout = dialTime }).
			WithTransportOptions(func(t *http.Transport) {
				t.TLSHandshakeTimeout, t.ResponseHeaderTimeout, t.MaxIdleConnsPerHost = dialTime, answerTime, 2*atOnce
			})),
		config.WithLogger(logging.Nop{}),
		config.WithRetryMaxAttempts(attempts),
		config.WithEC2IMDSClientEnableState(metadata),
	}
	if b.Region != "" {
		list = append(list, config.WithRegion(b.Region))
	}
	if b.Profile != "" {
		list = append(list, config.WithSharedConfigProfile(b.Profile))
	}
	if b.opts.AccessKey != "" {
		fixed := aws.Credentials{AccessKeyID: b.opts.AccessKey, SecretAccessKey: b.opts.SecretKey, Source: "reprise"}
		list = append(list, config.WithCredentialsProvider(aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return fixed, nil })))
	}
	return list
}

// open reaches a bucket for writing, and refuses one that does not keep what is
// written.
func open(ctx context.Context, text string, opts *Options) (*bucket, error) {
	b, err := reach(ctx, text, opts)
	if err != nil {
		return nil, err
	}
	if err := b.check(ctx); err != nil {
		b.http.CloseIdleConnections()
		return nil, err
	}
	return b, nil
}

func (b *bucket) check(ctx context.Context) error {
	const op = "s3blob.Open"
	ctx, done := context.WithTimeout(ctx, requestTime)
	defer done()
	v, err := b.s3.GetBucketVersioning(ctx, &s3.GetBucketVersioningInput{Bucket: &b.Bucket})
	switch {
	case b.Unversioned && is(err, "NotImplemented", "VersioningNotConfigured", "MethodNotAllowed"):
		return nil
	case err != nil:
		return b.fail(op, err, "whether bucket %s keeps versions", b.Bucket)
	}
	b.versions = v.Status != ""
	if v.Status != types.BucketVersioningStatusEnabled && !b.Unversioned {
		return fault.New(ErrNotVersioned, op, "bucket %s keeps no versions: turn versioning on, or say versioning=off if one request may destroy what is kept there", b.Bucket)
	}
	if b.Lock == NoLock {
		return nil
	}
	l, err := b.s3.GetObjectLockConfiguration(ctx, &s3.GetObjectLockConfigurationInput{Bucket: &b.Bucket})
	if err != nil && !is(err, "ObjectLockConfigurationNotFoundError", "NotImplemented") {
		return b.fail(op, err, "whether bucket %s has object lock", b.Bucket)
	}
	if err != nil || l.ObjectLockConfiguration == nil || l.ObjectLockConfiguration.ObjectLockEnabled != types.ObjectLockEnabledEnabled {
		return fault.New(ErrNoLock, op, "bucket %s has no object lock, so that nothing in it can be locked", b.Bucket)
	}
	return nil
}

// lock returns how what is written now is locked.
func (b *bucket) lock() (types.ObjectLockMode, *time.Time) {
	until := b.until(b.opts.Now())
	switch b.Lock {
	case Governance:
		return types.ObjectLockModeGovernance, &until
	case Compliance:
		return types.ObjectLockModeCompliance, &until
	default:
		return "", nil
	}
}

// fail gives an error of the service one of our codes.
func (b *bucket) fail(op string, err error, format string, args ...any) error {
	var code fault.Code = blob.ErrStore
	switch {
	case is(err, "NoSuchBucket"):
		return fault.New(ErrNoBucket, op, "there is no bucket %s", b.Bucket)
	case is(err, "PermanentRedirect", "TemporaryRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException"):
		code = ErrPlace
	case status(err) == http.StatusForbidden, status(err) == http.StatusUnauthorized:
		code = ErrDenied
	}
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		err = api // without the numbers of the request around it
	}
	return fault.Wrap(code, op, err, format, args...)
}

// is reports whether the service answered with one of these codes.
func is(err error, codes ...string) bool {
	api, ok := errors.AsType[smithy.APIError](err)
	if !ok {
		return false
	}
	for _, c := range codes {
		if api.ErrorCode() == c {
			return true
		}
	}
	return false
}

func status(err error) int {
	if re, ok := errors.AsType[*awshttp.ResponseError](err); ok {
		return re.HTTPStatusCode()
	}
	return 0
}

func missing(err error) bool { return status(err) == http.StatusNotFound && !is(err, "NoSuchBucket") }

// taken reports whether an object was not written because there is one.
func taken(err error) bool { return status(err) == http.StatusPreconditionFailed }

// contested reports whether two wrote an object at the same time: who lost asks
// again.
func contested(err error) bool {
	return status(err) == http.StatusConflict && is(err, "ConditionalRequestConflict", "OperationAborted")
}
