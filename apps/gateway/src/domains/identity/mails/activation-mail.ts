import type { Language } from '@berth/contract/limits'
import type { MailContent } from '../../../drivers/mail/port.ts'
import { type MailText, writeMail } from '../../../platform/mail-text.ts'
import type { LinkMailValues } from './link-mail-values.ts'

/** The texts of the mail that activates an account. */
export const ACTIVATION_TEXTS: Record<Language, MailText<LinkMailValues>> = {
  en: {
    subject: ({ brand }) => `Activate your ${brand} account`,
    body: ({ brand, link, hours }) => [
      'Hello,',
      `Someone signed up for ${brand} with this email address. To activate the account, please open this link:`,
      link,
      `The link works once, within ${hours} hours.`,
      'If it was not you, please ignore this mail. Without the link nothing can be bought or run.',
      brand,
    ],
  },
  zh: {
    subject: ({ brand }) => `激活您的 ${brand} 账户`,
    body: ({ brand, link, hours }) => [
      '您好！',
      `有人使用此邮箱地址注册了 ${brand}。请打开以下链接激活账户：`,
      link,
      `该链接在 ${hours} 小时内有效，且只能使用一次。`,
      '如果不是您本人操作，请忽略此邮件。未经激活，该账户无法购买或运行任何内容。',
      brand,
    ],
  },
  ja: {
    subject: ({ brand }) => `${brand} アカウントの有効化`,
    body: ({ brand, link, hours }) => [
      'こんにちは。',
      `このメールアドレスで ${brand} への登録がありました。アカウントを有効にするには、次のリンクを開いてください。`,
      link,
      `リンクの有効期限は ${hours} 時間で、使用できるのは 1 回だけです。`,
      'お心当たりがない場合は、このメールを無視してください。有効化されるまで、購入や実行は一切できません。',
      brand,
    ],
  },
  ko: {
    subject: ({ brand }) => `${brand} 계정을 활성화해 주세요`,
    body: ({ brand, link, hours }) => [
      '안녕하세요.',
      `이 이메일 주소로 ${brand} 회원 가입이 접수되었습니다. 계정을 활성화하려면 아래 링크를 열어 주세요.`,
      link,
      `이 링크는 ${hours}시간 이내에 한 번만 사용할 수 있습니다.`,
      '본인이 가입하지 않았다면 이 메일을 무시해 주세요. 활성화하지 않으면 어떤 것도 구매하거나 실행할 수 없습니다.',
      brand,
    ],
  },
}

/**
 * The mail that holds the activation link.
 * @param to The address that is to be verified.
 * @param language The customer's.
 */
export function activationMail(to: string, language: Language, values: LinkMailValues): MailContent {
  return writeMail(to, ACTIVATION_TEXTS[language], values)
}
