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
  const raw = await container.logs({ stdout: true, stderr: true, tail: linesMax, follow: true })
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
