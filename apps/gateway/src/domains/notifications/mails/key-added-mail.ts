import type { Language } from '@berth/contract/limits'
import type { KeyKind } from '../facts.ts'
import type { NoticeTexts } from './notice-mail.ts'

interface Values {
  at: string
  what: KeyKind
  /** As the customer calls it. */
  name: string
}

const WHAT: Record<Language, Record<KeyKind, string>> = {
  en: { ssh_key: 'SSH key', registry: 'registry credential', api_key: 'API key' },
  zh: { ssh_key: 'SSH 密钥', registry: '镜像仓库凭据', api_key: 'API 密钥' },
  ja: { ssh_key: 'SSH キー', registry: 'レジストリの認証情報', api_key: 'API キー' },
  ko: { ssh_key: 'SSH 키', registry: '레지스트리 자격 증명', api_key: 'API 키' },
}

/** The mail about an SSH key, registry credential or API key that was added. */
export const KEY_ADDED_TEXTS: NoticeTexts<Values> = {
  en: {
    subject: ({ brand, what }) => `New ${WHAT.en[what]} in your ${brand} account`,
    body: ({ brand, what, name, at, link }) => [
      'Hello,',
      `Your ${brand} account has a new ${WHAT.en[what]} since ${at}. Its name is “${name}”.`,
      'If it was you, there is nothing to do. If it was not, remove it, end your other sessions and choose a new password:',
      link,
    ],
  },
  zh: {
    subject: ({ brand, what }) => `您的 ${brand} 账户新增了${WHAT.zh[what]}`,
    body: ({ brand, what, name, at, link }) => [
      '您好！',
      `您的 ${brand} 账户于 ${at} 新增了${WHAT.zh[what]}，名称为“${name}”。`,
      '如果是您本人操作，无需任何操作。如果不是，请将其删除，结束其他会话并设置新密码：',
      link,
    ],
  },
  ja: {
    subject: ({ brand, what }) => `${brand} アカウントに${WHAT.ja[what]}が追加されました`,
    body: ({ brand, what, name, at, link }) => [
      'こんにちは。',
      `${at} に、${brand} アカウントに${WHAT.ja[what]}「${name}」が追加されました。`,
      'ご本人であれば、何もする必要はありません。お心当たりがない場合は、それを削除し、ほかのセッションを終了して、新しいパスワードを設定してください。',
      link,
    ],
  },
  ko: {
    subject: ({ brand, what }) => `${brand} 계정에 추가됨: ${WHAT.ko[what]}`,
    body: ({ brand, what, name, at, link }) => [
      '안녕하세요.',
      `${at}에 ${brand} 계정에 새 항목이 추가되었습니다. 종류: ${WHAT.ko[what]}, 이름: “${name}”`,
      '본인이라면 아무것도 하지 않으셔도 됩니다. 본인이 아니라면 이를 삭제하고 다른 세션을 종료한 뒤 새 비밀번호를 설정해 주세요.',
      link,
    ],
  },
}
