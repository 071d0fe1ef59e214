/** What S3 access is shown for; each with what customers run. */
export const S3_TOOLS = ['aws', 's3cmd', 'rclone', 'javascript'] as const
export type S3Tool = (typeof S3_TOOLS)[number]

/** All that a client must know. */
export interface S3Facts {
  endpoint: string
  bucket: string
  region: string
  accessKeyId: string
  secretAccessKey: string
}

const FOLDER = 'data'

/** Uploads the folder `data` of whoever runs it, as commands of a shell or a program. Buckets stand in the path. */
export function s3Code(tool: S3Tool, facts: S3Facts): string {
  return CODE[tool](facts)
}

/** The lines of a file `.env`, by the names that Amazon's clients know. */
export function s3Env({ endpoint, region, accessKeyId, secretAccessKey }: Omit<S3Facts, 'bucket'>): string {
  return lines(
    `AWS_ACCESS_KEY_ID=${accessKeyId}`,
    `AWS_SECRET_ACCESS_KEY=${secretAccessKey}`,
    `AWS_REGION=${region}`,
    `AWS_ENDPOINT_URL_S3=${endpoint}`,
    '',
  )
}

const lines = (...all: string[]) => all.join('\n')

const CODE: Record<S3Tool, (facts: S3Facts) => string> = {
  aws: ({ endpoint, bucket, region, accessKeyId, secretAccessKey }) =>
    lines(
      `export AWS_ACCESS_KEY_ID=${accessKeyId}`,
      `export AWS_SECRET_ACCESS_KEY=${secretAccessKey}`,
      `aws s3 sync ./${FOLDER} s3://${bucket}/${FOLDER} \\`,
      `  --endpoint-url ${endpoint} --region ${region}`,
    ),
  s3cmd: ({ endpoint, bucket, region, accessKeyId, secretAccessKey }) => {
    const { host, protocol } = new URL(endpoint)
    return lines(
      `cat > ${bucket}.s3cfg <<'END'`,
      '[default]',
      `access_key = ${accessKeyId}`,
      `secret_key = ${secretAccessKey}`,
      `host_base = ${host}`,
      `host_bucket = ${host}`,
      `bucket_location = ${region}`,
      `use_https = ${protocol === 'https:' ? 'True' : 'False'}`,
      'END',
      `s3cmd -c ${bucket}.s3cfg sync ./${FOLDER}/ s3://${bucket}/${FOLDER}/`,
    )
  },
  rclone: ({ endpoint, bucket, region, accessKeyId, secretAccessKey }) =>
    lines(
      'export RCLONE_CONFIG_BERTH_TYPE=s3',
      'export RCLONE_CONFIG_BERTH_PROVIDER=Other',
      `export RCLONE_CONFIG_BERTH_ENDPOINT=${endpoint}`,
      `export RCLONE_CONFIG_BERTH_REGION=${region}`,
      `export RCLONE_CONFIG_BERTH_ACCESS_KEY_ID=${accessKeyId}`,
      `export RCLONE_CONFIG_BERTH_SECRET_ACCESS_KEY=${secretAccessKey}`,
      `rclone copy ./${FOLDER} berth:${bucket}/${FOLDER}`,
    ),
  javascript: ({ endpoint, bucket, region, accessKeyId, secretAccessKey }) =>
    lines(
      "import { readFile } from 'node:fs/promises'",
      "import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3'",
      '',
      'const s3 = new S3Client({',
      `  endpoint: '${endpoint}',`,
      `  region: '${region}',`,
      '  forcePathStyle: true,',
      '  credentials: {',
      `    accessKeyId: '${accessKeyId}',`,
      `    secretAccessKey: '${secretAccessKey}',`,
      '  },',
      '})',
      `const Body = await readFile('${FOLDER}/file')`,
      `await s3.send(new PutObjectCommand({ Bucket: '${bucket}', Key: '${FOLDER}/file', Body }))`,
    ),
}
