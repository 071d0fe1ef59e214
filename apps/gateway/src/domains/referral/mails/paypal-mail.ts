import type { Language } from '@berth/contract/limits'
import type { MailContent } from '../../../drivers/mail/port.ts'
import { type MailText, writeMail } from '../../../platform/mail-text.ts'

interface Values {
  brand: string
  link: string
  hours: number
}

/** The texts of the mail that confirms a PayPal account. */
export const PAYPAL_TEXTS: Record<Language, MailText<Values>> = {
  en: {
    subject: ({ brand }) => `Confirm your PayPal account for ${brand}`,
    body: ({ brand, link, hours }) => [
      'Hello,',
      `Somebody who refers friends to ${brand} asked to be paid to the PayPal account of this address. To confirm that it is yours, please sign in and open this link:`,
      link,
      `The link works once, within ${hours} hours.`,
      'If it was not you, please ignore this mail. Without the link no money is sent here.',
      brand,
    ],
  },
  zh: {
    subject: ({ brand }) => `确认用于 ${brand} 的 PayPal 账户`,
    body: ({ brand, link, hours }) => [
      '您好！',
      `有人通过推荐好友使用 ${brand} 获得收益，并希望将款项支付到此邮箱地址的 PayPal 账户。如果该账户属于您，请登录并打开以下链接确认：`,
      link,
      `该链接在 ${hours} 小时内有效，且只能使用一次。`,
      '如果不是您本人操作，请忽略此邮件。未经确认，不会向此账户付款。',
      brand,
    ],
  },
  ja: {
    subject: ({ brand }) => `${brand} で使う PayPal アカウントの確認`,
    body: ({ brand, link, hours }) => [
      'こんにちは。',
      `${brand} の紹介プログラムの報酬を、このメールアドレスの PayPal アカウントで受け取る申請がありました。ご自身のアカウントであれば、ログインして次のリンクを開いてください。`,
      link,
      `リンクの有効期限は ${hours} 時間で、使用できるのは 1 回だけです。`,
      'お心当たりがない場合は、このメールを無視してください。確認されるまで、このアカウントへの支払いは行われません。',
      brand,
    ],
  },
  ko: {
    subject: ({ brand }) => `${brand}에서 사용할 PayPal 계정을 확인해 주세요`,
    body: ({ brand, link, hours }) => [
      '안녕하세요.',
      `${brand} 추천 보상을 이 이메일 주소의 PayPal 계정으로 받겠다는 요청이 있었습니다. 본인의 계정이 맞다면 로그인한 뒤 아래 링크를 열어 확인해 주세요.`,
      link,
      `이 링크는 ${hours}시간 이내에 한 번만 사용할 수 있습니다.`,
      '본인이 요청하지 않았다면 이 메일을 무시해 주세요. 확인되기 전에는 이 계정으로 지급되지 않습니다.',
      brand,
    ],
  },
}

/**
 * The mail that holds the link by which a PayPal account is confirmed.
 * @param to The account's address.
 * @param language The customer's.
 */
export function paypalMail(to: string, language: Language, values: Values): MailContent {
  return writeMail(to, PAYPAL_TEXTS[language], values)
}
