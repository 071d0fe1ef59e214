import { GATEWAY_PREFIX, IDEMPOTENCY_KEY_HEADER } from './envelope.ts'
import { type DeployBody, deployBody, deployInstance } from './instances.ts'

/** Ways to write a deploy down as a program. */
export const CODE_LANGUAGES = ['curl', 'typescript'] as const
export type CodeLanguage = (typeof CODE_LANGUAGES)[number]

/** Where the programs take the token from. */
export const TOKEN_VARIABLE = 'BERTH_TOKEN'

/**
 * Writes a deploy down as the same call, to be run elsewhere (B18). The token comes from the environment, and in place
 * of each secret variable's value stands its name in angle brackets.
 * @param origin Of the gateway, such as `https://cloud.example`.
 * @param body What would be sent; what is as it is anyway is left out.
 */
export function deployCode(language: CodeLanguage, origin: string, body: DeployBody): string {
  const url = `${origin}${GATEWAY_PREFIX}${deployInstance.path}`
  const shown = withoutDefaults(withoutSecrets(body))
  return language === 'curl' ? curlOf(url, shown) : typescriptOf(url, shown)
}

function curlOf(url: string, body: object): string {
  return [
    `curl --fail-with-body ${quoted(url)} \\`,
    `  -H "Authorization: Bearer $${TOKEN_VARIABLE}" \\`,
    `  -H "${IDEMPOTENCY_KEY_HEADER}: deploy-$(date +%s)-$$" \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  --data-binary ${quoted(JSON.stringify(body, null, 2))}`,
  ].join('\n')
}

function typescriptOf(url: string, body: object): string {
  return `import { env, stdout } from 'node:process'

const answer = await fetch(${JSON.stringify(url)}, {
  method: '${deployInstance.method}',
  headers: {
    Authorization: \`Bearer \${env.${TOKEN_VARIABLE}}\`,
    'Content-Type': 'application/json',
    '${IDEMPOTENCY_KEY_HEADER}': crypto.randomUUID(),
  },
  body: JSON.stringify(${JSON.stringify(body, null, 2).replaceAll('\n', '\n  ')}),
})
const { status, msg, data } = (await answer.json()) as {
  status: 'ok' | 'error'
  msg: string
  data: { instance_id: string }
}
if (status === 'error') throw new Error(msg)
stdout.write(\`\${data.instance_id}\\n\`)`
}

/** As a POSIX shell takes a text that it is to leave alone. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

function withoutSecrets(body: DeployBody): DeployBody {
  const secrets = new Set(body.secret_env)
  const entries = Object.entries(body.env).map(([name, value]) => [
    name,
    secrets.has(name) ? `<${name}>` : value,
  ])
  return { ...body, env: Object.fromEntries(entries) }
}

/** What a call may leave out means the same as what stands there anyway. */
function withoutDefaults(body: DeployBody): object {
  const { name, region_code, gpu_spec_id, gpu_count, container_disk_gb } = body
  const least = { name, region_code, gpu_spec_id, gpu_count, container_disk_gb }
  const usual: Record<string, unknown> = deployBody.parse(least)
  const entries = Object.entries(body).filter(
    ([key, value]) => key in least || JSON.stringify(value) !== JSON.stringify(usual[key]),
  )
  return Object.fromEntries(entries)
}
