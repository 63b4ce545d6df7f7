package protocol

// Version is the protocol version string that every message carries.
const Version = "draft"

// Code names what went wrong with one delivery (settlement section 9).
type Code string

// The codes a diagnostic may carry. Cancelled and Capacity never occur in a
// call's own diagnostics; they mark errors of a closed or full gateway.
const (
	ProtocolRejection Code = "protocol_rejection"
	RemoteRPC         Code = "remote_rpc"
	TransportFault    Code = "transport"
	DeadlineExceeded  Code = "deadline_exceeded"
	Preparation       Code = "preparation"
	Cancelled         Code = "cancelled"
	Capacity          Code = "capacity"
)

// Stage names where in a delivery the fault arose.
type Stage string

// The stages of a delivery.
const (
	StageContent        Stage = "content"
	StageAuthentication Stage = "authentication"
	StageDelivery       Stage = "delivery"
)

// FaultKind says more closely than Code what failed. It is chosen from this
// closed list and never holds a backend's own words (api.md section 3).
type FaultKind string

// The kinds a diagnostic's "error" member may name.
const (
	FaultTimeout       FaultKind = "timeout"
	FaultConnection    FaultKind = "connection"
	FaultTLS           FaultKind = "tls"
	FaultStatus        FaultKind = "status"
	FaultRedirect      FaultKind = "redirect"
	FaultNotJSON       FaultKind = "not_json"
	FaultSchema        FaultKind = "schema"
	FaultCorrelation   FaultKind = "correlation"
	FaultGrant         FaultKind = "grant"
	FaultRPCError      FaultKind = "rpc_error"
	FaultProcess       FaultKind = "process"
	FaultRecordTooLong FaultKind = "record_too_long"
	FaultCredential    FaultKind = "credential"
	FaultHeader        FaultKind = "header"
	FaultUpload        FaultKind = "upload"
	FaultContent       FaultKind = "content"
)
