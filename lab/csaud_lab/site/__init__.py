"""What a lab is: its file, beside that of its fabric."""

from csaud_lab.site.alone import alone
from csaud_lab.site.load import Site, load_site
from csaud_lab.site.model import Acceptance, Lab, Machine, Ssh

__all__ = ["Acceptance", "Lab", "Machine", "Site", "Ssh", "alone", "load_site"]
