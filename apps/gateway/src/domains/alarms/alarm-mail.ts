import type { MailContent } from '../../drivers/mail/port.ts'
import { ALARMS, type AlarmCode } from './alarm-list.ts'
import type { AlarmNews } from './alarm-plan.ts'

export type { AlarmNews } from './alarm-plan.ts'

interface Told {
  code: AlarmCode
  /** The computer that it is about; empty for the whole installation. */
  place: string
  news: AlarmNews
  value: number
  about: string[]
  brand: string
  url: string
}

const HEADS: Record<AlarmNews, string> = { raised: '', still: 'still: ', over: 'over: ' }

/** The mail that an operator gets of an alarm; operators read English, as the command line and the log are. */
export function alarmMail(told: Told): Omit<MailContent, 'to'> {
  const { code, news, place, value, about, brand, url } = told
  const { title, meaning, todo, metric } = ALARMS[code]
  const where = place === '' ? '' : ` on ${place}`
  const parts =
    news === 'over'
      ? ['This is over. Nothing has to be done.']
      : [
          meaning,
          ...(about.length === 0 ? [] : [about.map(line => `- ${line}`).join('\n')]),
          todo,
          `You are told again after a day if it lasts. ${metric} is ${value}.`,
        ]
  return {
    subject: `${brand}: ${HEADS[news]}${title}${where}`,
    text: `${parts.join('\n\n')}\n\n${url}\n`,
  }
}
