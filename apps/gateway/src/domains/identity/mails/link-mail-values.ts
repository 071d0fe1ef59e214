/** What the texts of a mail with a link are filled with. */
export interface LinkMailValues {
  brand: string
  link: string
  hours: number
}
