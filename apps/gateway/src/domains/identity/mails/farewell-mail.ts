import type { Language } from '@berth/contract/limits'
import type { MailContent } from '../../../drivers/mail/port.ts'
import { type MailText, writeMail } from '../../../platform/mail-text.ts'

interface Values {
  brand: string
  at: string
}

/** The texts of the mail that says that the account was deleted. */
export const FAREWELL_TEXTS: Record<Language, MailText<Values>> = {
  en: {
    subject: ({ brand }) => `Your ${brand} account was deleted`,
    body: ({ brand, at }) => [
      'Hello,',
      `Your ${brand} account was deleted at ${at}, as was asked for in its settings. Its sessions are ended; its keys, credentials and links to other services are removed.`,
      'The books of what was paid and used stay, without your name and address. This address is free: you may sign up with it again.',
      'If it was not you, please write at once to whoever runs this service.',
      brand,
    ],
  },
  zh: {
    subject: ({ brand }) => `您的 ${brand} 账户已删除`,
    body: ({ brand, at }) => [
      '您好！',
      `根据在设置中提出的请求，您的 ${brand} 账户已于 ${at} 删除。其会话均已结束，密钥、凭据以及与其他服务的关联均已移除。`,
      '付款和使用的账目仍会保留，但不再包含您的姓名和邮箱地址。此邮箱地址可以重新注册。',
      '如果不是您本人操作，请立即联系本服务的运营方。',
      brand,
    ],
  },
  ja: {
    subject: ({ brand }) => `${brand} アカウントを削除しました`,
    body: ({ brand, at }) => [
      'こんにちは。',
      `設定画面でのご依頼により、${at} に ${brand} アカウントを削除しました。セッションはすべて終了し、キー、認証情報、ほかのサービスとの連携は取り除かれました。`,
      'お支払いとご利用の帳簿は、お名前とメールアドレスを除いて残ります。このメールアドレスは、再び登録にお使いいただけます。',
      'お心当たりがない場合は、このサービスの運営者にすぐご連絡ください。',
      brand,
    ],
  },
  ko: {
    subject: ({ brand }) => `${brand} 계정이 삭제되었습니다`,
    body: ({ brand, at }) => [
      '안녕하세요.',
      `설정에서 요청하신 대로 ${at}에 ${brand} 계정이 삭제되었습니다. 세션은 모두 종료되었으며 키, 자격 증명, 다른 서비스와의 연결은 제거되었습니다.`,
      '결제와 사용 내역의 장부는 이름과 이메일 주소 없이 보관됩니다. 이 이메일 주소로 다시 가입하실 수 있습니다.',
      '본인이 요청하지 않았다면 이 서비스의 운영자에게 즉시 연락해 주세요.',
      brand,
    ],
  },
}

/**
 * The mail that says that the account was deleted.
 * @param to The address that was the account's.
 * @param language The customer's.
 */
export function farewellMail(to: string, language: Language, values: Values): MailContent {
  return writeMail(to, FAREWELL_TEXTS[language], values)
}
