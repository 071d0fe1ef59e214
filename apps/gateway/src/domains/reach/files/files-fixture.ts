import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { json } from 'node:stream/consumers'
import type { Call, CallData, CallInput } from '@berth/contract/call'
import { GATEWAY_PREFIX } from '@berth/contract/envelope'
import { startFileDownload, uploadPiece } from '@berth/contract/files'
import { sendCall } from '../../../../test/start-gateway.ts'

/** A file as a customer has it. */
export interface OwnFile {
  path: string
  bytes: Buffer
  modified_at?: number
}

/** Files of one instance, as a console asks for them. */
export function filesOf({ server }: { server: { origin: string } }, id: string, token = 'anna') {
  const { origin } = server
  const params = { id }

  /** Makes a call. @returns Its data. @throws Error that names the code of a refusal. */
  async function ask<C extends Call>(
    call: C,
    input: Omit<CallInput<C>, 'params'> & { body?: unknown; query?: unknown },
  ): Promise<CallData<C>> {
    const { envelope } = await sendCall(origin, call, { params, ...input } as never, { token })
    if (envelope.status === 'error') throw new Error(envelope.code)
    return envelope.data as CallData<C>
  }

  const figuresOf = ({ path, bytes, modified_at = 1_700_000_000 }: OwnFile) => ({
    path,
    size: bytes.length,
    modified_at,
  })

  /** Begins to send a piece. */
  function begin(
    file: OwnFile,
    part: { offset?: number; length?: number; replace?: boolean; sha256?: string; verify_from?: number } = {},
  ) {
    const { offset = 0 } = part
    const url = new URL(origin + GATEWAY_PREFIX + uploadPiece.path.replace('{id}', id))
    const query = { ...figuresOf(file), length: file.bytes.length - offset, ...part, offset }
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, String(value))
    const request = httpRequest(url, {
      method: 'PUT',
      agent: false,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/octet-stream' },
    })
    const answered = (async () => {
      const [response] = (await once(request, 'response')) as [IncomingMessage]
      const envelope = (await json(response)) as { code?: string; data: CallData<typeof uploadPiece> }
      if (envelope.code) throw new Error(envelope.code)
      return envelope.data
    })()
    answered.catch(() => undefined)
    return { request, answered }
  }

  return {
    ask,
    figuresOf,
    begin,
    /** Sends a piece, up to the end of the file where nothing else is said. */
    async send(file: OwnFile, part: Parameters<typeof begin>[1] = {}) {
      const { offset = 0 } = part
      const bytes = file.bytes.subarray(offset, offset + (part.length ?? file.bytes.length))
      const sha256 =
        part.sha256 ??
        createHash('sha256')
          .update(file.bytes.subarray(part.verify_from ?? offset, offset + bytes.length))
          .digest('hex')
      const { request, answered } = begin(file, { ...part, sha256 })
      request.end(bytes)
      return answered
    },
    /** Saves a file as a browser does, by an address without a token. */
    async save(path: string, headers: Record<string, string> = {}) {
      const { path: address } = await ask(startFileDownload, { body: { path } })
      const response = await fetch(origin + address, { headers })
      return { response, address }
    },
  }
}
