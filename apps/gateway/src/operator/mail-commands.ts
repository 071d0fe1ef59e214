import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { LANGUAGES } from '@berth/contract/limits'
import type { WaitingMail } from '../drivers/mail/mail-desk.ts'
import { NotFound, UsageError } from './line/answer.ts'
import { changing, flag, looking, type OperatorContext, optional } from './line/command.ts'
import { counted, fromNow, minute } from './line/said.ts'
import { type Column, table } from './line/table.ts'
import { oneOf, path, word } from './line/values.ts'

/** Mails to customers: what they say, and what of them has not gone out. */
export const mailCommands = [
  looking({
    noun: 'mail',
    verb: 'preview',
    summary: 'Shows a mail as it would go out, with made-up facts',
    details:
      'Without a name it lists those that there are. With --to-folder it writes them as files, all of them with --all.',
    arguments: { mail: optional(word('<mail>'), 'Its name, from the list') },
    options: {
      language: optional(oneOf(LANGUAGES), 'In which language; without it English'),
      all: flag('All mails, in all languages, or in the one that is said'),
      'to-folder': optional(path('<folder>'), 'Where files are written, which is made where it is missing'),
    },
    examples: [
      ['mail preview', 'the names of all'],
      ['mail preview low-balance --language ja', 'one of them, in Japanese'],
      ['mail preview --all --to-folder /tmp/mails', 'all of them in all languages, a file each'],
    ],
    async run(context, given) {
      const examples = await examplesOf(context)
      if (given.mail === null && !given.all) {
        const names = examples.map(({ name }) => name)
        return { data: { mails: names }, text: names.map(name => `${name}\n`).join('') }
      }
      if (given.mail !== null && given.all) throw new UsageError('--all is all of them: name none.')
      const wanted = examples.filter(({ name }) => given.all || name === given.mail)
      if (wanted.length === 0) throw new NotFound(`No mail is called ${given.mail}: mail preview lists them.`)
      const languages =
        given.language === null ? (given.all ? LANGUAGES : (['en'] as const)) : [given.language]
      const mails = wanted.flatMap(({ name, compose }) =>
        languages.map(language => ({ name, language, ...compose(language) })),
      )
      const textOf = ({ to, subject, text }: (typeof mails)[number]) =>
        `To: ${to}\nSubject: ${subject}\n\n${text}`
      const folder = given['to-folder']
      if (folder === null) return { data: mails, text: mails.map(textOf).join('\n') }
      const target = resolve(folder)
      mkdirSync(target, { recursive: true })
      for (const one of mails) writeFileSync(join(target, `${one.name}.${one.language}.txt`), textOf(one))
      return {
        data: { folder: target, count: mails.length },
        text: `${counted(mails.length, 'mail')} in ${target}.\n`,
      }
    },
  }),
  looking({
    noun: 'mail',
    verb: 'queue',
    summary: 'Mails that have not gone out: those that wait, and those that were given up',
    details:
      'A mail is tried for a day. What it says is made when it goes out, so the list has its kind alone.',
    arguments: {},
    options: {},
    examples: [['mail queue', 'what waits, how often it was tried and why it failed']],
    async run({ clock, columns, installation }) {
      const mails = await (await installation()).mails.list()
      const data = mails.map(({ id, kind, state, tries, nextAt, sentAt, why }) => ({
        ...{ id, kind, state, tries, why },
        ...{ next_at: nextAt.toISOString(), queued_at: sentAt.toISOString() },
      }))
      const text = mails.length === 0 ? 'No mail waits.\n' : table(mails, mailColumns(clock.now()), columns)
      return { data, text }
    },
  }),
  changing({
    noun: 'mail',
    verb: 'retry',
    summary: 'Has mails tried again at once: those that wait, and those that were given up',
    arguments: { id: optional(word('<id>'), 'One of the queue; left out: all of them') },
    options: {},
    examples: [['mail retry', 'after the mail server is back']],
    async plan({ installation }, given) {
      const { mails } = await installation()
      const all = await mails.list()
      const meant = all.filter(
        ({ id, state }) => state !== 'being sent' && (given.id === null || id === given.id),
      )
      if (given.id !== null && meant.length === 0) throw new NotFound('No such mail waits.')
      return {
        says: [`${counted(meant.length, 'mail')} ${meant.length === 1 ? 'is' : 'are'} tried again at once.`],
        data: { mails: meant.length },
        target: given.id ?? 'all',
        async act() {
          const count = await mails.retry(meant.map(({ id }) => id))
          return {
            data: { mails: count },
            text: `${counted(count, 'mail')} ${count === 1 ? 'is' : 'are'} tried again.\n`,
          }
        },
      }
    },
  }),
]

async function examplesOf({ config }: OperatorContext) {
  const { mailExamples } = await import('./mail-examples.ts')
  const { publicUrl } = config()
  return mailExamples('Berth', publicUrl ?? 'http://127.0.0.1:8080')
}

function mailColumns(now: Date): Column<WaitingMail>[] {
  return [
    { title: 'ID', of: mail => mail.id },
    { title: 'MAIL', of: mail => mail.kind },
    { title: 'QUEUED', of: mail => minute(mail.sentAt) },
    { title: 'STATE', of: mail => mail.state },
    { title: 'TRIES', of: mail => String(mail.tries), right: true },
    { title: 'NEXT', of: mail => (mail.state === 'waits' ? fromNow(mail.nextAt, now) : '') },
    { title: 'WHY', of: mail => mail.why },
  ]
}
