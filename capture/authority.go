package capture

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// ErrAuthority means that the certificates of a run could not be made. Look at
// the folder for temporary files.
const ErrAuthority fault.Unavailable = "capture.authority_failed"

// authority signs the certificates that the forward proxy of one run shows to
// the run's child. Its key is in the memory of this process and nowhere else,
// and is not used again: what trusts it after the run trusts nobody.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	rand io.Reader
	now  func() time.Time

	mu     sync.Mutex
	leaves map[string]*tls.Certificate
}

const (
	authorityLife = 30 * 24 * time.Hour
	clockSlack    = time.Hour
	maxLeaves     = 1024 // hosts whose certificates are kept
	serialBits    = 127
)

func newAuthority(cfg *drive.Config) (*authority, error) {
	a := &authority{rand: cfg.Rand, now: cfg.Now, leaves: map[string]*tls.Certificate{}}
	key, err := ecdsa.GenerateKey(elliptic.P256(), a.rand)
	if err != nil {
		return nil, fault.Wrap(drive.ErrRandom, "capture.authority", err, "a key")
	}
	a.key = key
	serial, err := a.serial()
	if err != nil {
		return nil, err
	}
	now := a.now()
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "Reprise, one run only"},
		NotBefore: now.Add(-clockSlack), NotAfter: now.Add(authorityLife),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	der, err := x509.CreateCertificate(a.rand, template, template, key.Public(), key)
	if err == nil {
		a.cert, err = x509.ParseCertificate(der)
	}
	return a, fault.Wrap(ErrAuthority, "capture.authority", err, "the certificate of the run")
}

func (a *authority) serial() (*big.Int, error) {
	b := make([]byte, (serialBits+7)/8)
	if _, err := io.ReadFull(a.rand, b); err != nil {
		return nil, fault.Wrap(drive.ErrRandom, "capture.authority", err, "a serial number")
	}
	b[0] &= 0x7f
	return new(big.Int).SetBytes(b), nil
}

// leaf returns the certificate for a host name or address.
func (a *authority) leaf(host string) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.leaves[host]; c != nil && a.now().Before(c.Leaf.NotAfter) {
		return c, nil
	}
	serial, err := a.serial()
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{Organization: []string{"Reprise"}},
		NotBefore: a.cert.NotBefore, NotAfter: a.cert.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{host}
	}
	der, err := x509.CreateCertificate(a.rand, template, a.cert, a.key.Public(), a.key)
	if err != nil {
		return nil, fault.Wrap(ErrAuthority, "capture.authority", err, "a certificate for %s", host)
	}
	c := &tls.Certificate{Certificate: [][]byte{der, a.cert.Raw}, PrivateKey: a.key}
	if c.Leaf, err = x509.ParseCertificate(der); err != nil {
		return nil, fault.Wrap(ErrAuthority, "capture.authority", err, "a certificate for %s", host)
	}
	if len(a.leaves) >= maxLeaves {
		clear(a.leaves)
	}
	a.leaves[host] = c
	return c, nil
}

func (a *authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

// trustVars are the variables by which programs are told whom to trust. One
// that replaces what its reader would trust otherwise gets the public roots as
// well, for the hosts that are tunnelled.
var trustVars = []struct {
	name     string
	replaces bool
}{
	{"SSL_CERT_FILE", true},      // OpenSSL, Go, Ruby, Python's ssl, rustls-native-certs
	{"CURL_CA_BUNDLE", true},     // curl, Python requests
	{"REQUESTS_CA_BUNDLE", true}, // Python requests
	{"AWS_CA_BUNDLE", true},
	{"GIT_SSL_CAINFO", true},
	{"PIP_CERT", true},
	{"CARGO_HTTP_CAINFO", true},
	{"GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", true},
	{"CODEX_CA_CERTIFICATE", false},
	{"NODE_EXTRA_CA_CERTS", false},
	{"DENO_CERT", false},
}

// rootFiles are where systems keep the roots that programs trust.
var rootFiles = []string{
	"/etc/ssl/certs/ca-certificates.crt",                // Debian, Alpine
	"/etc/pki/tls/certs/ca-bundle.crt",                  // Fedora
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", // RHEL
	"/etc/ssl/ca-bundle.pem",                            // SUSE
	"/etc/ssl/cert.pem",                                 // macOS, Alpine
	"/usr/local/etc/ssl/cert.pem",                       // FreeBSD
}

// trust writes the files by which the child trusts the authority into dir and
// returns the variables that name them. What a variable of the child named
// before is trusted still.
func (a *authority) trust(environ []string, dir string) ([]string, error) {
	var set []string
	for _, v := range trustVars {
		from := lookup(environ, v.name)
		if from == "" && v.replaces {
			from = systemRoots(environ)
		}
		text := a.pem()
		if from != "" {
			b, err := os.ReadFile(from)
			if err != nil && lookup(environ, v.name) != "" {
				return nil, fault.Wrap(ErrAuthority, "capture.authority", err, "the file that %s names", v.name)
			}
			text = append(append(bytes.Clone(b), '\n'), text...)
		}
		path := filepath.Join(dir, strings.ToLower(v.name)+".pem")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return nil, fault.Wrap(ErrAuthority, "capture.authority", err, "the certificates of the run")
		}
		set = append(set, v.name+"="+path)
	}
	return set, nil
}

// systemRoots returns the file of the roots that programs of this environment
// trust, or nothing.
func systemRoots(environ []string) string {
	if f := lookup(environ, "SSL_CERT_FILE"); f != "" {
		return f
	}
	for _, f := range rootFiles {
		if _, err := os.Stat(f); err == nil {
			return f
		}
	}
	return ""
}
