import { pipeline, type Readable, Transform } from 'node:stream'
import type Docker from 'dockerode'
import { createDemuxer } from './docker-exec.ts'

/** The last lines that a container's main program wrote. Throws what dockerode throws. */
export async function readLogs(container: Docker.Container, linesMax: number): Promise<string> {
  const raw = await container.logs({ stdout: true, stderr: true, tail: linesMax, follow: false })
  const pieces: Buffer[] = []
  createDemuxer((_, piece) => pieces.push(piece))(raw)
  return Buffer.concat(pieces).toString()
}

/** The last lines, and then what comes until the container ends. The engine waits for whoever reads. */
export async function followLogs(container: Docker.Container, linesMax: number): Promise<Readable> {
  return demuxed(await container.logs({ stdout: true, stderr: true, tail: linesMax, follow: true }))
}

/** All that is kept, as a stream: what dockerode gives of a log that is not followed is the whole of it at once. */
export async function readKeptLog(container: Docker.Container): Promise<Readable> {
  const asked = {
    path: `/containers/${container.id}/logs?`,
    method: 'GET',
    isStream: true,
    statusCodes: { 200: true, 404: 'no such container', 500: 'server error' },
    options: { stdout: true, stderr: true },
  }
  const raw = await new Promise<NodeJS.ReadableStream>((resolve, reject) => {
    container.modem.dial(asked, (error: unknown, answer: NodeJS.ReadableStream) =>
      error ? reject(error) : resolve(answer),
    )
  })
  return demuxed(raw)
}

/** What a container wrote, out of the frames in which the engine sends it. */
function demuxed(raw: NodeJS.ReadableStream): Readable {
  const bytes = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      demux(chunk)
      done()
    },
  })
  const demux = createDemuxer((_, piece) => bytes.push(piece))
  // Destroying one end destroys the other; why it ended is of no use to a reader of lines.
  pipeline(raw, bytes, () => undefined)
  return bytes
}
