/** What S3's clients are told: its code, the status that goes with it, and a sentence. */
const ERRORS = {
  AccessDenied: [403, 'Access Denied'],
  AccessControlListNotSupported: [400, 'A volume has no access lists: its keys reach all of it.'],
  AuthorizationHeaderMalformed: [400, 'The authorization header is malformed.'],
  AuthorizationQueryParametersError: [400, 'The query parameters of the signature are malformed.'],
  BadDigest: [400, 'The checksum that you named does not match what was received.'],
  BucketAlreadyOwnedByYou: [409, 'The bucket is there, and it is yours.'],
  EntityTooLarge: [400, 'The object is larger than may be put at once, or than the volume.'],
  EntityTooSmall: [400, 'Each part but the last must have 5 MiB or more.'],
  ExpiredToken: [400, 'Temporary tokens are not known here.'],
  IncompleteBody: [400, 'You did not send as many bytes as you said.'],
  InsufficientStorage: [507, 'The volume is full.'],
  InternalError: [500, 'Something went wrong here. Please try again.'],
  InvalidAccessKeyId: [403, 'The access key is not known.'],
  InvalidArgument: [400, 'An argument is not valid.'],
  InvalidDigest: [400, 'The Content-MD5 or checksum that you named is not one.'],
  InvalidObjectName: [400, 'An object is a file of the volume, and this name cannot be one.'],
  InvalidPart: [400, 'A part is not there, or has another ETag.'],
  InvalidPartOrder: [400, 'Parts must be named in ascending order.'],
  InvalidRange: [416, 'The range lies outside of the object.'],
  InvalidRequest: [400, 'The request is not valid.'],
  InvalidStorageClass: [400, 'There is one storage class: STANDARD.'],
  InvalidURI: [400, 'The address cannot be read.'],
  KeyTooLongError: [400, 'The key is longer than 1024 bytes.'],
  MalformedXML: [400, 'The XML is malformed, or is not what is asked for here.'],
  MalformedTrailerError: [400, 'The trailer is malformed, or is not what was announced.'],
  MaxMessageLengthExceeded: [400, 'The request is too large.'],
  MetadataTooLarge: [400, 'The metadata has more than 2 KB.'],
  MethodNotAllowed: [405, 'This cannot be done with that.'],
  MissingContentLength: [411, 'You must say the length of what you send.'],
  NoSuchBucket: [404, 'There is no such bucket, or this key does not reach it.'],
  NoSuchKey: [404, 'There is no such key.'],
  NoSuchUpload: [404, 'There is no such upload: it was completed or aborted, or is older than seven days.'],
  NotImplemented: [501, 'This is not offered here.'],
  ObjectIsFolder: [409, 'In the volume this name is a folder, so no object can have it.'],
  ObjectParentIsFile: [409, 'In the volume a part of this name is a file, and no folder.'],
  PreconditionFailed: [412, 'A condition that you named does not hold.'],
  RequestTimeTooSkewed: [403, 'The time of the request is too far from the time here.'],
  RequestTimeout: [400, 'Nothing came for too long.'],
  ServiceUnavailable: [503, 'The volume cannot be reached here now.'],
  SignatureDoesNotMatch: [
    403,
    'The signature is not what was calculated here. Check your secret and how you sign.',
  ],
  SlowDown: [503, 'Too many requests at once. Please send fewer.'],
  VolumeReadOnly: [
    403,
    'The volume can be read and not written: nothing is left to pay for it, or it holds more than its size.',
  ],
  XAmzContentSHA256Mismatch: [400, 'The x-amz-content-sha256 header is not the hash of what was received.'],
} as const satisfies Record<string, readonly [number, string]>

export type S3ErrorCode = keyof typeof ERRORS

/** A refusal in S3's words. */
export class S3Error extends Error {
  readonly code: S3ErrorCode
  readonly status: number
  /** Further elements of the answer, such as the region that is expected. */
  readonly more: Readonly<Record<string, string>>

  /**
   * @param code S3's own code, or one in its manner where S3 has none.
   * @param options.message What is wrong with this request in particular; left out: the code's own sentence.
   */
  constructor(
    code: S3ErrorCode,
    options: { message?: string; more?: Record<string, string>; cause?: unknown } = {},
  ) {
    const [status, sentence] = ERRORS[code]
    super(options.message ?? sentence, { cause: options.cause })
    this.name = 'S3Error'
    this.code = code
    this.status = status
    this.more = options.more ?? {}
  }
}
