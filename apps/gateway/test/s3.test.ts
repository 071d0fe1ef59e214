import { afterAll, beforeAll, describe } from 'vitest'
import { describeWhere } from '../src/drivers/compute/conformance/tools.ts'
import { probeSandbox } from '../src/drivers/compute/sandbox/probe-sandbox.ts'
import { describeS3 } from './s3-conformance.ts'
import { type S3Gateway, type S3Volume, startS3Gateway } from './s3-volume.ts'
import { startVersitygw, VERSITYGW_DIFFERS, versitygwProbe } from './versitygw.ts'

describeWhere('S3 of network volumes', await probeSandbox(), () => {
  let s3: S3Gateway
  let volume: S3Volume
  beforeAll(async () => {
    s3 = await startS3Gateway()
    volume = await s3.volume()
  })
  afterAll(() => s3.stop())
  describeS3(() => volume)
})

// What a real server does is what our suite may ask for.
if (!versitygwProbe.ok) process.stdout.write(`SKIP S3 of versitygw: ${versitygwProbe.why}\n`)
describe.skipIf(!versitygwProbe.ok)('S3 of versitygw', () => {
  let peer: Awaited<ReturnType<typeof startVersitygw>>
  beforeAll(async () => {
    peer = await startVersitygw()
  })
  afterAll(() => peer.stop())
  describeS3(() => peer.target, {
    ...VERSITYGW_DIFFERS,
    'a stream is taken in chunks': 'it keeps aws-chunked as the encoding of the object',
    'another secret, another key': 'it answers 404 XAdminUserNotFound for a key that it does not know',
  })
})
