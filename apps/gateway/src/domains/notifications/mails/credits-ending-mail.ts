import type { Language } from '@berth/contract/limits'
import type { NoticeTexts } from './notice-mail.ts'

interface Values {
  /** All that ends, with its currency's sign. */
  total: string
  /** By when all of it has ended. */
  last: string
  /** A line for each amount and its end. */
  list: string
}

interface Ending {
  /** With its currency's sign. */
  amount: string
  until: string
  modelsOnly: boolean
}

/** One amount of credits with its end, as a line. */
export function endingLine(language: Language, { amount, until, modelsOnly }: Ending): string {
  return LINES[language](amount, until) + (modelsOnly ? FOR_MODELS[language] : '')
}

const LINES: Record<Language, (amount: string, until: string) => string> = {
  en: (amount, until) => `${amount} until ${until}`,
  zh: (amount, until) => `${amount}，有效期至 ${until}`,
  ja: (amount, until) => `${amount}（${until} まで有効）`,
  ko: (amount, until) => `${amount} (${until}까지 유효)`,
}

const FOR_MODELS: Record<Language, string> = {
  en: ', for calls of models only',
  zh: '，仅可用于模型调用',
  ja: '・モデルの呼び出し専用',
  ko: ', 모델 호출 전용',
}

/** The mail about credits that are about to end (R3.8). */
export const CREDITS_ENDING_TEXTS: NoticeTexts<Values> = {
  en: {
    subject: ({ brand, total, last }) => `${brand}: ${total} of your credits end by ${last}`,
    body: ({ brand, total, list, link }) => [
      'Hello,',
      `Of the credits of your ${brand} account, ${total} are about to end. What is not used by then is gone:\n${list}`,
      'What ends first is used first, before the money that you paid in; that has no end. All of your credits are here:',
      link,
    ],
  },
  zh: {
    subject: ({ brand, total, last }) => `${brand}：您有 ${total} 赠金将于 ${last} 前到期`,
    body: ({ brand, total, list, link }) => [
      '您好！',
      `您 ${brand} 账户中有 ${total} 赠金即将到期，到期时未使用的部分将失效：\n${list}`,
      '扣费时先使用最早到期的赠金，再使用您充值的余额；充值的余额没有有效期。您的全部赠金请见：',
      link,
    ],
  },
  ja: {
    subject: ({ brand, total, last }) => `${brand}: クレジット ${total} が ${last} までに失効します`,
    body: ({ brand, total, list, link }) => [
      'こんにちは。',
      `${brand} アカウントのクレジットのうち ${total} の有効期限が近づいています。期限までに使われなかった分は失効します。\n${list}`,
      '期限の近いクレジットから先に使われ、チャージした残高はそのあとに使われます。チャージした残高に期限はありません。クレジットの一覧はこちらです。',
      link,
    ],
  },
  ko: {
    subject: ({ brand, total, last }) => `${brand}: 크레딧 ${total}이 ${last}까지 만료됩니다`,
    body: ({ brand, total, list, link }) => [
      '안녕하세요.',
      `${brand} 계정의 크레딧 중 ${total}의 만료일이 다가옵니다. 그때까지 사용하지 않은 금액은 사라집니다.\n${list}`,
      '만료가 가까운 크레딧부터 먼저 사용되고, 충전하신 잔액은 그다음에 사용됩니다. 충전하신 잔액에는 만료일이 없습니다. 모든 크레딧은 여기에서 볼 수 있습니다.',
      link,
    ],
  },
}
