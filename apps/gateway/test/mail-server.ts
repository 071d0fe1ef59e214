import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { SMTPServer } from 'smtp-server'

export interface ReceivedMail {
  from: string
  to: string[]
  /** As it came over the wire: header, empty line, body. */
  raw: string
}

/**
 * A real SMTP server that keeps what it is sent. It can go away and come back on the same port. Recipients that
 * begin with `nobody` are refused for good, those that begin with `later` for now.
 */
export async function startMailServer() {
  const received: ReceivedMail[] = []
  /** Recipients that were offered, taken or not. */
  const offered: string[] = []
  let running: SMTPServer | null = null
  let port = 0

  async function start(): Promise<void> {
    const server = new SMTPServer({
      disabledCommands: ['STARTTLS', 'AUTH'],
      onRcptTo({ address }, _session, callback) {
        offered.push(address)
        if (address.startsWith('nobody')) return callback(replyError(550, 'no such mailbox'))
        if (address.startsWith('later')) return callback(replyError(451, 'try again later'))
        callback()
      },
      onData(stream, { envelope }, callback) {
        text(stream).then(raw => {
          const from = envelope.mailFrom ? envelope.mailFrom.address : ''
          received.push({ from, to: envelope.rcptTo.map(({ address }) => address), raw })
          callback()
        }, callback)
      },
    })
    server.on('error', () => {})
    await new Promise<void>(resolve => {
      server.listen(port, '127.0.0.1', resolve)
    })
    port = (server.server.address() as AddressInfo).port
    running = server
  }

  async function stop(): Promise<void> {
    const server = running
    running = null
    if (server) await new Promise<void>(resolve => server.close(() => resolve()))
  }

  await start()
  return { received, offered, url: `smtp://127.0.0.1:${port}`, start, stop }
}
export type MailServer = Awaited<ReturnType<typeof startMailServer>>

/** The text of a plain mail, decoded. */
export function bodyOf({ raw }: ReceivedMail): string {
  const [head = '', ...rest] = raw.split(/\r?\n\r?\n/)
  const body = rest.join('\n\n').replace(/\r\n/g, '\n')
  const encoding = /^content-transfer-encoding: *(\S+)/im.exec(head)?.[1]?.toLowerCase()
  if (encoding === 'base64') return Buffer.from(body, 'base64').toString('utf8')
  if (encoding !== 'quoted-printable') return body
  const bytes = body
    .replace(/=\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1').toString('utf8')
}

function replyError(responseCode: number, message: string): Error {
  return Object.assign(new Error(message), { responseCode })
}
