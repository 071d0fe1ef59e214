import { changing, flag, looking } from './line/command.ts'
import { fromNow, minute } from './line/said.ts'
import { table } from './line/table.ts'

/** Keys that tokens are signed with. */
export const keysCommands = [
  looking({
    noun: 'keys',
    verb: 'list',
    summary: 'Keys by which tokens are believed: the one that signs, and those before it',
    arguments: {},
    options: {},
    examples: [['keys list', 'since when each signs, and until when it is believed']],
    async run({ clock, columns, installation }) {
      const keys = await (await installation()).keys.listTokenKeys()
      const now = clock.now()
      const text = table(
        keys,
        [
          { title: 'KEY', of: key => key.id },
          { title: 'SINCE', of: key => minute(key.createdAt) },
          {
            title: 'BELIEVED',
            of: ({ endsAt }) => (endsAt ? `until ${minute(endsAt)}, ${fromNow(endsAt, now)}` : 'signs now'),
          },
        ],
        columns,
      )
      const data = keys.map(({ id, createdAt, endsAt }) => ({
        ...{ id, created_at: createdAt.toISOString() },
        ends_at: endsAt?.toISOString() ?? null,
      }))
      return { data, text }
    },
  }),
  changing({
    noun: 'keys',
    verb: 'rotate',
    summary: 'Replaces the key that tokens are signed with',
    details:
      'Nobody is signed out: the former key is believed until its last token is over. After a leak say --at-once, and ' +
      'everybody signs in again.',
    destroys: true,
    arguments: {},
    options: { 'at-once': flag('Believes the former keys no longer: everybody signs in again') },
    examples: [
      ['keys rotate', 'two keys are valid until the former one’s tokens are over'],
      ['keys rotate --at-once --confirm everybody', 'after a leak'],
    ],
    async plan({ installation }, given) {
      const { keys } = await installation()
      const atOnce = given['at-once']
      const says = atOnce
        ? 'Tokens are signed with a new key, and no other is believed: everybody signs in again.'
        : 'Tokens are signed with a new key. The former one is believed until its last token is over.'
      return {
        says: [says],
        data: { at_once: atOnce },
        ...(atOnce ? { confirm: 'everybody' } : {}),
        target: atOnce ? 'tokens, at once' : 'tokens',
        async act() {
          const id = await keys.replaceTokenKey({ atOnce })
          return { data: { id, at_once: atOnce }, text: `The new key is ${id}. ${says}\n` }
        },
      }
    },
  }),
]
