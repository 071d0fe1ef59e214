import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { createWaitingSockets } from '../../../platform/http/waiting-sockets.ts'
import type { GatewaySide, KnownKey, KnownVolume, S3Log } from '../gateway-side.ts'
import { operationOf } from '../operations/operations.ts'
import { OUTER_OPERATIONS } from '../outer/outer-operations.ts'
import { createOuterRoom } from '../outer/outer-room.ts'
import { createShares } from '../outer/shares.ts'
import { S3Error } from '../s3-error.ts'
import { S3_LIMITS, type S3Limits } from '../s3-limits.ts'
import { codeOf } from '../store/beneath.ts'
import { createKeyLocks } from '../store/key-locks.ts'
import { createUploadRoom } from '../store/upload-room.ts'
import { sweep } from '../store/uploads.ts'
import { withVolume } from '../store/volume-folder.ts'
import { createKnown } from './known.ts'
import { passOn } from './pass-on.ts'
import type { S3Answer, S3Request, SignedS3Request } from './s3-request.ts'
import {
  type Claim,
  decodeUri,
  readClaim,
  type SignedRequest,
  splitQuery,
  verifySignature,
} from './signature.ts'
import { writeXml } from './xml.ts'

const REQUEST_ID_BYTES = 8
const HTTP_SERVER_ERROR = 500
/** How often it is looked, while the server closes, which connections have nothing to do any more. */
const CLOSE_LOOK_MS = 200
/** What the system says of a disk that is gone, broken, or was made read-only since it is. */
const DISK_GONE = new Set(['EIO', 'ENXIO', 'ENODEV', 'EROFS', 'ESTALE', 'ENOTCONN', 'ESHUTDOWN'])

/** Who sent a request here: a client, or another gateway that has it from one. */
type CameFrom = 'client' | 'gateway'

interface Exchange {
  incoming: IncomingMessage
  response: ServerResponse
  id: string
}

export interface S3ServerDeps {
  gateway: GatewaySide
  log: S3Log
  /** The name below which each bucket has one of its own; null: buckets stand in the path alone. */
  hostName: string | null
  /** Networks of proxies, which hold connections for others. */
  trustedProxies: readonly string[]
  /** Opens a stream to the S3 server of another gateway, for a customer. */
  openHop(to: { gatewayId: string; userId: string }): Duplex
  /** In milliseconds. */
  now(): number
  limits?: Partial<S3Limits>
}

/**
 * The S3 server: signatures, and which operation a request is. It knows volumes as folders, and keys as its gateway tells
 * them.
 */
export function createS3Server(deps: S3ServerDeps) {
  const limits = { ...S3_LIMITS, ...deps.limits }
  const { log, now } = deps
  const { gateway } = deps
  const bounds = { now, knownMs: limits.knownMs, most: limits.knownMax }
  const keys = createKnown<KnownKey>({ ...bounds, askedMost: limits.keysAskedMax })
  // Asked for by those alone whose signature holds, once at a time for each: a volume whose engine is slow holds up no other.
  const volumes = createKnown<KnownVolume>(bounds)
  const underWay = new Map<string, number>()
  const locked = createKeyLocks()
  const uploadRoom = createUploadRoom({ now })
  const held = createShares({
    most: limits.heldBytesMax,
    perUserMost: limits.heldBytesPerUserMax,
    waitMs: limits.outerWaitMs,
  })
  const outerRoom = createOuterRoom({ now })
  const outerTurns = createShares({
    most: limits.outerRequestsMax,
    perUserMost: limits.outerRequestsPerUserMax,
    waitMs: limits.outerWaitMs,
  })

  // No most of all is set for connections: whoever holds as many without a word would keep everybody else out.
  const clock = { now: () => new Date(now()) }
  const waiting = createWaitingSockets({ clock, trustedProxies: deps.trustedProxies })
  const server = makeServer('client')
  server.on('connection', socket => {
    waiting.add(socket)
    socket.once('close', () => waiting.remove(socket))
  })
  /** Where other gateways pass requests on. */
  const hopServer = makeServer('gateway')

  function makeServer(cameFrom: CameFrom): Server {
    const options = { maxHeaderSize: limits.headerBytesMax, requestTimeout: 0 }
    const take = (incoming: IncomingMessage, response: ServerResponse) => serve(incoming, response, cameFrom)
    const made = createServer(options, take)
    made.on('checkContinue', take)
    made.setTimeout(limits.idleMs)
    return made
  }

  function serve(incoming: IncomingMessage, response: ServerResponse, cameFrom: CameFrom): void {
    const { socket } = incoming
    // Those of gateways have proven who they are.
    if (cameFrom === 'client') response.once('close', () => socket.destroyed || waiting.add(socket))
    const id = randomBytes(REQUEST_ID_BYTES).toString('hex').toUpperCase()
    response.setHeader('x-amz-request-id', id)
    response.setHeader('server', 'Berth')
    // Clients that are gone are noticed where something is read or written.
    for (const side of [incoming, response]) side.on('error', () => undefined)
    answer({ incoming, response, id }, cameFrom).catch(error =>
      refuse(error, { incoming, response, id }, cameFrom),
    )
  }

  async function answer({ incoming, response, id }: Exchange, cameFrom: CameFrom): Promise<void> {
    const signed = signedRequestOf(incoming)
    const pairs = splitQuery(signed.rawQuery)
    const query = new Map(pairs)
    if (query.size !== pairs.length)
      throw new S3Error('InvalidArgument', { message: 'A parameter came twice.' })
    const claim = readClaim(signed, query, now())
    const holder = await keyOf(signed, claim)
    // Who passes a request on has noted it, and knows from where it came.
    if (cameFrom === 'client') gateway.noteUse(claim.accessKeyId, incoming.socket.remoteAddress ?? '')
    const { bucket, key } = placeOf(signed, incoming.headers.host ?? '')
    if (bucket !== '' && bucket !== holder.bucket)
      throw new S3Error('NoSuchBucket', { more: { BucketName: bucket } })
    const asked = { method: signed.method, bucket, key, query }
    const operation = operationOf({ ...asked, isCopy: incoming.headers['x-amz-copy-source'] !== undefined })
    if (operation.writes && holder.access === 'read_only')
      throw new S3Error('AccessDenied', { message: 'This key may read and not write.' })
    await counted(holder.userId, async () => {
      waiting.remove(incoming.socket)
      const known = { ...holder, ...(await volumeOf(holder)) }
      if (operation.writes) requireWritable(known, operation.frees === true)
      await run(operation, { ...asked, id, incoming, response, claim, known }, cameFrom)
    })
  }

  /**
   * The key of a request. Until its signature and region have been found right, nothing is asked of the gateway but that.
   * @throws S3Error for who has signed with none, or not with that.
   */
  async function keyOf(signed: SignedRequest, claim: Claim): Promise<KnownKey> {
    const { accessKeyId, date, region } = claim
    const known = await keys.find(
      `${accessKeyId} ${date} ${region}`,
      () => gateway.findKey({ accessKeyId, date, region }),
      // Whoever makes up regions pushes nobody's key out.
      found => found.region === region,
    )
    if (!known) throw new S3Error('InvalidAccessKeyId', { more: { AWSAccessKeyId: accessKeyId } })
    verifySignature(signed, claim, known.signingKey)
    if (known.endsMs !== null && now() >= known.endsMs) throw new S3Error('InvalidAccessKeyId')
    if (region !== known.region) throw wrongRegion(known)
    return known
  }

  async function volumeOf({ userId, bucket }: KnownKey): Promise<KnownVolume> {
    const volume = await volumes.find(bucket, () => gateway.findVolume({ userId, volumeId: bucket }))
    if (!volume) throw new S3Error('InvalidAccessKeyId')
    return volume
  }

  /** Does what is asked for, where the volume is. */
  async function run(
    operation: ReturnType<typeof operationOf>,
    request: SignedS3Request,
    cameFrom: CameFrom,
  ): Promise<void> {
    const { known } = request
    const { place } = known
    if ('why' in place) throw new S3Error('ServiceUnavailable', { message: place.why })
    if ('gatewayId' in place) {
      const { gatewayId } = place
      // One hop and no more: the client asks again, and then it is known better.
      if (cameFrom === 'gateway') throw new S3Error('ServiceUnavailable')
      return hop(request, gatewayId)
    }
    if ('outer' in place) {
      const { outer } = place
      const ask = OUTER_OPERATIONS[operation.name]
      // What the server is not asked for says the same of every volume, and looks at none.
      const given = ask
        ? await outerTurns.within(known.userId, 1, () =>
            ask({ ...request, outer, held, room: outerRoom, now }),
          )
        : await operation.run(request as S3Request)
      if (given) send(request, given)
      return
    }
    await withVolume(place.path, async volume => {
      const locks = scopedLocks(known.bucket)
      const given = await operation.run({ ...request, volume, locked: locks, uploadRoom })
      if (given) send(request, given)
    })
  }

  async function hop({ incoming, response, known }: SignedS3Request, gatewayId: string): Promise<void> {
    try {
      await passOn({ incoming, response }, () => deps.openHop({ gatewayId, userId: known.userId }))
    } catch (error) {
      // Another may reach the volume by now.
      volumes.forget(known.bucket)
      throw error
    }
  }

  const scopedLocks =
    (bucket: string): typeof locked =>
    (thing, work) =>
      locked(`${bucket}/${thing}`, work)

  async function counted<Result>(userId: string, work: () => Promise<Result>): Promise<Result> {
    const count = underWay.get(userId) ?? 0
    if (count >= limits.requestsPerUserMax) throw new S3Error('SlowDown')
    underWay.set(userId, count + 1)
    try {
      return await work()
    } finally {
      const left = (underWay.get(userId) ?? 1) - 1
      if (left === 0) underWay.delete(userId)
      else underWay.set(userId, left)
    }
  }

  function placeOf({ rawPath }: SignedRequest, host: string): { bucket: string; key: string } {
    const path = decodeUri(rawPath).slice(1)
    const name = host.replace(/:\d+$/, '').toLowerCase()
    if (deps.hostName !== null && name.endsWith(`.${deps.hostName}`)) {
      return { bucket: name.slice(0, -deps.hostName.length - 1), key: path }
    }
    const at = path.indexOf('/')
    return at === -1 ? { bucket: path, key: '' } : { bucket: path.slice(0, at), key: path.slice(at + 1) }
  }

  function refuse(error: unknown, { incoming, response, id }: Exchange, cameFrom: CameFrom): void {
    const told = toS3Error(error)
    const isOurs = told.status === HTTP_SERVER_ERROR || told.code === 'ServiceUnavailable'
    if (isOurs && told.cause !== undefined && !incoming.destroyed) {
      const { cause } = told
      log('error', { err: String((cause as Error)?.stack ?? cause), request: id }, 'an S3 request failed')
    }
    // What was begun cannot be taken back: the client sees that it is cut off. A document that was only begun goes on.
    if (response.headersSent && response.hasHeader('content-length')) return void response.destroy()
    // What it would still send is not read for the sake of an answer; another gateway hangs up as soon as it has that.
    const isCut = !incoming.complete && cameFrom === 'client'
    if (isCut && !response.headersSent) response.setHeader('connection', 'close')
    const xml = writeXml('Error', {
      Code: told.code,
      Message: told.message,
      ...told.more,
      // As it came: what nobody has signed yet need be no address at all.
      Resource: incoming.url?.split('?')[0] ?? '/',
      RequestId: id,
    })
    const region = told.more.Region
    if (region && !response.headersSent) response.setHeader('x-amz-bucket-region', region)
    sendXml(response, told.status, incoming.method === 'HEAD' ? '' : xml)
    if (isCut) response.once('finish', () => incoming.destroy())
  }

  return {
    /** @throws What the system says of an address that cannot be listened on. */
    listen(host: string, port: number): Promise<AddressInfo> {
      const listening = Promise.withResolvers<AddressInfo>()
      server.once('error', listening.reject)
      server.listen(port, host, () => listening.resolve(server.address() as AddressInfo))
      return listening.promise
    },
    /** Takes requests that other gateways pass on. @param path Of a socket that is made anew. */
    async listenForHops(path: string): Promise<void> {
      await rm(path, { force: true })
      hopServer.listen(path)
      await once(hopServer, 'listening')
    },
    /** Removes leftovers in a volume's folder: uploads that nobody completed, files that a kill left half written. */
    sweep: (path: string) => withVolume(path, volume => sweep(volume, now())),
    /** Forgets what is known of keys: some have changed. */
    forgetKeys: () => keys.forget(null),
    /** Forgets what is known of a volume; null: of all. */
    forgetVolumes: volumes.forget,
    /** Requests that are under way. */
    count: () => [...underWay.values()].reduce((sum, each) => sum + each, 0),
    /** Stops listening, and resolves when all that is under way has been answered. */
    async close(): Promise<void> {
      const closed = [server, hopServer].map(one => new Promise<void>(resolve => one.close(() => resolve())))
      const letGo = () => {
        for (const one of [server, hopServer]) one.closeIdleConnections()
      }
      letGo()
      // A connection whose answer ends later would be kept for a next request that nobody takes.
      const again = setInterval(letGo, CLOSE_LOOK_MS)
      await Promise.all(closed).finally(() => clearInterval(again))
    },
  }
}

export type S3Server = ReturnType<typeof createS3Server>

function signedRequestOf({ method = 'GET', url = '/', rawHeaders }: IncomingMessage): SignedRequest {
  if (!url.startsWith('/')) throw new S3Error('InvalidURI')
  const at = url.indexOf('?')
  const [rawPath, rawQuery] = at === -1 ? [url, ''] : [url.slice(0, at), url.slice(at + 1)]
  return { method, rawPath, rawQuery, rawHeaders }
}

function wrongRegion({ region }: KnownKey): S3Error {
  const message = `The authorization header is malformed; the region is wrong, expecting '${region}'`
  return new S3Error('AuthorizationHeaderMalformed', { message, more: { Region: region } })
}

function requireWritable({ isReadOnly, isOnlyOverSize }: KnownVolume, frees: boolean): void {
  if (isReadOnly && !(frees && isOnlyOverSize)) throw new S3Error('VolumeReadOnly')
}

function toS3Error(error: unknown): S3Error {
  if (error instanceof S3Error) return error
  const code = codeOf(error)
  if (DISK_GONE.has(code)) {
    return new S3Error('ServiceUnavailable', {
      message: 'The disk of the volume does not answer.',
      cause: error,
    })
  }
  if (code === 'ENOSPC' || code === 'EDQUOT') return new S3Error('InsufficientStorage', { cause: error })
  if (code === 'ENAMETOOLONG') return new S3Error('InvalidObjectName', { cause: error })
  return new S3Error('InternalError', { cause: error })
}

function send({ incoming, response }: SignedS3Request, { status = 200, headers = {}, xml }: S3Answer): void {
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
  if (xml !== undefined) {
    sendXml(response, status, xml)
    return
  }
  response.statusCode = status
  if (status !== 204 && status !== 304 && incoming.method !== 'HEAD')
    response.setHeader('content-length', '0')
  response.end()
}

/** Sends a document, behind whatever was sent to keep the connection. */
function sendXml(response: ServerResponse, status: number, xml: string): void {
  if (response.headersSent) return void response.end(xml.replace(/^<\?xml[^>]*>\n/, ''))
  response.statusCode = status
  response.setHeader('content-type', 'application/xml')
  response.setHeader('content-length', String(Buffer.byteLength(xml)))
  response.end(xml)
}
